package runs

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// maxDescription is the length to which descriptions are cut in lists, in characters. The spec keeps them whole.
const maxDescription = 255

// DeployTask implements taskconnect.TaskServiceHandler. A version is immutable: deploying the same content again is
// fine, another content is already exists. Triggers are refused as long as nothing would ever fire them.
func (h *taskHandler) DeployTask(ctx context.Context, request *task.DeployTaskRequest) (*task.DeployTaskResponse, error) {
	id, spec := request.GetTaskId(), request.GetSpec()
	if count := len(request.GetTriggers()); count > 0 {
		return nil, rpc.Unimplemented("task %s has %d trigger(s), which this server cannot run; deploy it without them", id.GetName(), count)
	}
	if err := h.svc.checkPlace(ctx, "task_id", id.GetProject(), id.GetDomain()); err != nil {
		return nil, err
	}
	digest, body, err := store.EncodeSpec(store.SpecTask, spec)
	if err != nil {
		return nil, rpc.InvalidArgument("spec", "cannot be encoded: %s", err.Error())
	}
	caller, err := encodedCaller(ctx)
	if err != nil {
		return nil, err
	}
	row := &store.Task{
		Project: id.GetProject(), Domain: id.GetDomain(), Name: id.GetName(), Version: id.GetVersion(),
		EnvironmentName:   spec.GetEnvironment().GetName(),
		FunctionName:      functionName(id.GetName(), spec.GetEnvironment().GetName()),
		ShortName:         spec.GetShortName(),
		TaskType:          spec.GetTaskTemplate().GetType(),
		IsEntrypoint:      spec.GetTaskTemplate().GetMetadata().GetIsEntrypoint(),
		ShortDescription:  cut(spec.GetDocumentation().GetShortDescription(), maxDescription),
		EnvDescription:    cut(spec.GetEnvironment().GetDescription(), maxDescription),
		DeployedBy:        caller,
		DeployedBySubject: callerSubject(ctx),
		CreatedAt:         h.svc.clock.Now(),
	}
	if err := h.svc.tasks.Deploy(ctx, row, digest, body); err != nil {
		return nil, err
	}
	return &task.DeployTaskResponse{}, nil
}

// checkPlace answers not found when the project or the domain does not exist.
func (s *Service) checkPlace(ctx context.Context, field, project, domain string) error {
	if err := s.checkDomain(field, domain); err != nil {
		return err
	}
	_, err := s.projects.Get(ctx, project)
	return err
}

func (s *Service) checkDomain(field, domain string) error {
	if !slices.Contains(s.config.Domains, domain) {
		return rpc.NotFound("%s.domain: domain %q does not exist; there are %s", field, domain, strings.Join(s.config.Domains, ", "))
	}
	return nil
}

// functionName is the task's name without its environment, else its last part.
func functionName(name, environment string) string {
	if short, ok := strings.CutPrefix(name, environment+"."); ok && environment != "" {
		return short
	}
	return name[strings.LastIndexByte(name, '.')+1:]
}

// cut shortens a text to at most limit characters, never inside one. What is no UTF-8, or NUL, which the database
// cannot store, is replaced.
func cut(text string, limit int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit])
}
