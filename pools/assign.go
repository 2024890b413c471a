package pools

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/attempts/rendering"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/pools/store"
)

const (
	// maxInputs is the largest inputs document that is read to fill arguments, in bytes.
	maxInputs = 16 << 20
	// logName is the name of the log of an attempt, where logs of pods have that of their container.
	logName = "primary"
)

// message is the order to run an attempt. A *failure.Failure in the error's chain means that it cannot run as it is specified.
func (h *handler) message(ctx context.Context, a *store.Action, assigned *enginev1.Assignment) (*workerv1.Assignment, error) {
	template, number := assigned.GetTask().GetSpec().GetTaskTemplate(), uint32(a.Attempt) //nolint:gosec // from 1
	base := assigned.GetRunOutputBase()
	dir := blobpath.AttemptDir(base, a.Action.Name, number)
	about := rendering.Attempt{
		Dir: dir, InputURI: assigned.GetInputUri(), Run: a.Action.Run.Name, Action: a.Action.Name, Object: fmt.Sprintf("a%d-%d", a.UID, a.Attempt),
		RawDataPrefix: rendering.RawDataPrefix(dir, assigned.GetRunSpec().GetRawDataStorage().GetRawDataPrefix(),
			a.Action.Run.Project, a.Action.Run.Domain, a.Action.Run.Name, a.Action.Name, number),
	}
	if number > 1 {
		about.PreviousDir = blobpath.AttemptDir(base, a.Action.Name, number-1)
	}
	if assigned.GetRunStartTime() != nil {
		about.RunStartTime = assigned.GetRunStartTime().AsTime()
	}
	args, err := h.args(ctx, a, assigned, about)
	if err != nil {
		return nil, err
	}
	return &workerv1.Assignment{
		Id: idOf(a), Action: a.Action.Proto(), Args: args, Env: env(a, assigned), Timeout: template.GetMetadata().GetTimeout(),
		LogUri: blobpath.SealedLog(dir, logName),
	}, nil
}

func idOf(a *store.Action) *workerv1.AttemptId {
	return &workerv1.AttemptId{Uid: a.UID, Attempt: uint32(a.Attempt)} //nolint:gosec // from 1
}

// args is the command line of an attempt.
func (h *handler) args(ctx context.Context, a *store.Action, assigned *enginev1.Assignment, about rendering.Attempt) ([]string, error) {
	container := assigned.GetTask().GetSpec().GetTaskTemplate().GetContainer()
	given := append(append([]string{}, container.GetCommand()...), container.GetArgs()...)
	if len(given) == 0 {
		return nil, failure.New(failure.BadTaskSpecification, "a task of a reusable environment needs a container with a command")
	}
	var mentioned rendering.Mentions
	for _, text := range given {
		mentioned.Add(text)
	}
	values := about.Values()
	if mentioned.Values["prevcheckpointprefix"] {
		last, err := rendering.LastCheckpoint(ctx, h.deps.Store, assigned.GetRunOutputBase(), a.Action.Name, uint32(a.Attempt)) //nolint:gosec // from 1
		if err != nil {
			return nil, err
		}
		values["prevcheckpointprefix"] = last
	}
	inputs, err := h.inputs(ctx, about.InputURI, mentioned.Inputs)
	if err != nil {
		return nil, err
	}
	for i := range given {
		given[i] = rendering.Render(given[i], values, inputs)
	}
	return given, nil
}

// inputs returns the inputs of these names as text.
func (h *handler) inputs(ctx context.Context, uri string, names []string) (map[string]string, error) {
	if len(names) == 0 || uri == "" {
		return nil, nil
	}
	body, err := h.deps.Store.ReadAll(ctx, blobpath.InputsPath(uri), maxInputs)
	document := &task.Inputs{}
	switch {
	case errors.Is(err, blobstore.ErrNotExist), errors.Is(err, blobstore.ErrTooLarge), errors.Is(err, blobstore.ErrForbiddenPath):
		return nil, failure.New(failure.BadTaskSpecification, "the arguments mention inputs, which cannot be read: %v", err)
	case err != nil:
		return nil, fmt.Errorf("read inputs: %w", err)
	}
	if err := proto.Unmarshal(body, document); err != nil {
		return nil, failure.New(failure.BadTaskSpecification, "the arguments mention inputs, which cannot be read: %v", err)
	}
	literals := map[string]*core.Literal{}
	for _, literal := range document.GetLiterals() {
		literals[literal.GetName()] = literal.GetValue()
	}
	values := map[string]string{}
	for _, name := range names {
		if values[name], err = rendering.Text(literals[name]); err != nil {
			return nil, failure.New(failure.BadTaskSpecification, "the arguments mention the input %q, but %v", name, err)
		}
	}
	return values, nil
}

// env are the variables that differ between the actions of a pool: those of the run, then those of the platform, which win.
func env(a *store.Action, assigned *enginev1.Assignment) map[string]string {
	vars := map[string]string{}
	for _, pair := range assigned.GetRunSpec().GetEnvs().GetValues() {
		vars[pair.GetKey()] = pair.GetValue()
	}
	id := assigned.GetTask().GetSpec().GetTaskTemplate().GetId()
	for name, value := range map[string]string{
		"ACTION_NAME":                      a.Action.Name,
		"RUN_NAME":                         a.Action.Run.Name,
		"FLYTE_INTERNAL_EXECUTION_ID":      a.Action.Run.Name,
		"FLYTE_INTERNAL_EXECUTION_PROJECT": a.Action.Run.Project,
		"FLYTE_INTERNAL_EXECUTION_DOMAIN":  a.Action.Run.Domain,
		"FLYTE_INTERNAL_TASK_PROJECT":      id.GetProject(),
		"FLYTE_INTERNAL_TASK_DOMAIN":       id.GetDomain(),
		"FLYTE_INTERNAL_TASK_NAME":         id.GetName(),
		"FLYTE_INTERNAL_TASK_VERSION":      id.GetVersion(),
		"FLYTE_INTERNAL_PROJECT":           id.GetProject(),
		"FLYTE_INTERNAL_DOMAIN":            id.GetDomain(),
		"FLYTE_INTERNAL_NAME":              id.GetName(),
		"FLYTE_INTERNAL_VERSION":           id.GetVersion(),
		"FLYTE_ATTEMPT_NUMBER":             strconv.Itoa(int(a.Attempt) - 1),
		"_U_RUN_BASE":                      assigned.GetRunOutputBase(),
	} {
		vars[name] = value
	}
	return vars
}
