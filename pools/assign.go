package pools

import (
	"context"
	"fmt"

	"github.com/flyte-binary/flyte-binary/attempts"
	"github.com/flyte-binary/flyte-binary/attempts/failure"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/pools/store"
)

// logName is the name of the log of an attempt, where logs of pods have that of their container.
const logName = "primary"

// message is the order to run an attempt. A *failure.Failure in the error's chain means that it cannot run as it is specified.
func (h *handler) message(ctx context.Context, a *store.Action, assigned *enginev1.Assignment) (*workerv1.Assignment, error) {
	template := assigned.GetTask().GetSpec().GetTaskTemplate()
	args := append(append([]string{}, template.GetContainer().GetCommand()...), template.GetContainer().GetArgs()...)
	if len(args) == 0 {
		return nil, failure.New(failure.BadTaskSpecification, "a task of a reusable environment needs a container with a command")
	}
	about := attempts.Of(assigned, a.Attempt)
	values, err := about.Arguments(ctx, h.deps.Store, args...)
	if err != nil {
		return nil, err
	}
	for i := range args {
		args[i] = values.Render(args[i])
	}
	env := h.environment(about)
	if err := h.addToken(ctx, env, a, assigned); err != nil {
		return nil, err
	}
	return &workerv1.Assignment{
		Id: idOf(a), Action: a.Action.Proto(), Args: args, Env: env, Timeout: template.GetMetadata().GetTimeout(),
		LogUri: blobpath.SealedLog(about.Dir(), "", logName),
	}, nil
}

// addToken adds the token of an attempt. The worker puts it into the address of the server, which it knows.
func (h *handler) addToken(ctx context.Context, env map[string]string, a *store.Action, assigned *enginev1.Assignment) error {
	delete(env, attempts.TokenVariable) // of the author of the run
	if h.deps.Tokens == nil {
		return nil
	}
	answer, err := h.deps.Tokens.IssueTaskToken(ctx, &enginev1.IssueTaskTokenRequest{Holder: &enginev1.IssueTaskTokenRequest_Attempt{
		Attempt: &enginev1.AttemptRef{Action: assigned.GetRef(), Attempt: uint32(a.Attempt)}, //nolint:gosec // from 1
	}})
	if err != nil {
		return fmt.Errorf("get the token of an attempt: %w", err)
	}
	if token := answer.GetToken(); token != "" {
		env[attempts.TokenVariable] = token
	}
	return nil
}

func idOf(a *store.Action) *workerv1.AttemptId {
	return &workerv1.AttemptId{Uid: a.UID, Attempt: uint32(a.Attempt)} //nolint:gosec // from 1
}

// environment are the variables that differ between the actions of a pool: those of the run, then those of the platform, which win.
func (h *handler) environment(about *attempts.Attempt) map[string]string {
	result := map[string]string{}
	for _, variable := range append(about.RunEnvironment(), about.Environment(h.deps.LegacyEnv)...) {
		result[variable.Name] = variable.Value
	}
	return result
}
