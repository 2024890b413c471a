package tasks

import (
	"context"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobaccess"
	"github.com/flyte-binary/flyte-binary/internal/blob/codebundle"
	"github.com/flyte-binary/flyte-binary/internal/kube/kuberule"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/internal/text/clip"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/declared"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// maxDescription is the length to which descriptions are cut in lists, in characters. The spec keeps them whole.
const maxDescription = 255

// DeployTask implements taskconnect.TaskServiceHandler. A version is immutable: deploying the same content again is
// fine, other content returns AlreadyExists. The triggers of the request become those of the task in both cases, since
// clients take AlreadyExists for success. All is checked before anything is stored; if the process ends between the task
// and its triggers, the client repeats the request.
func (h *Handler) DeployTask(ctx context.Context, request *task.DeployTaskRequest) (*task.DeployTaskResponse, error) {
	id, spec := request.GetTaskId(), request.GetSpec()
	types, err := h.types.Of(ctx, id.GetProject(), id.GetDomain(), spec.GetTaskTemplate())
	if err != nil {
		return nil, err
	}
	if _, refusal := declared.Task(spec, types); refusal != nil {
		return nil, refusal.In("spec")
	}
	if _, err := h.places.Check(ctx, "task_id", id.GetProject(), id.GetDomain()); err != nil {
		return nil, err
	}
	if code := codebundle.URI(spec.GetTaskTemplate()); code != "" {
		place := blobaccess.Place{Project: id.GetProject(), Domain: id.GetDomain()}
		if err := h.access.Code("spec.task_template", code, place); err != nil {
			return nil, err
		}
	}
	if types.Connector() == "" {
		if err := h.reviewPod(spec); err != nil {
			return nil, err
		}
	}
	digest, body, err := schema.EncodeSpec(schema.SpecTask, spec)
	if err != nil {
		return nil, rpc.InvalidArgument("spec", "cannot be encoded: %s", err.Error())
	}
	if path, words := kuberule.Sizes(spec.GetTaskTemplate(), len(body), nil); words != "" {
		return nil, rpc.InvalidArgument("spec."+path, "%s", words)
	}
	// Only checked: they may refer to a version that is stored below.
	if err := h.applyTriggers(ctx, request, true); err != nil {
		return nil, err
	}
	deployer, err := caller.Encoded(ctx)
	if err != nil {
		return nil, err
	}
	row := &catalog.Task{
		Project: id.GetProject(), Domain: id.GetDomain(), Name: id.GetName(), Version: id.GetVersion(),
		EnvironmentName:   spec.GetEnvironment().GetName(),
		FunctionName:      FunctionName(id.GetName(), spec.GetEnvironment().GetName()),
		ShortName:         spec.GetShortName(),
		TaskType:          spec.GetTaskTemplate().GetType(),
		IsEntrypoint:      spec.GetTaskTemplate().GetMetadata().GetIsEntrypoint(),
		ShortDescription:  clip.Characters(spec.GetDocumentation().GetShortDescription(), maxDescription),
		EnvDescription:    clip.Characters(spec.GetEnvironment().GetDescription(), maxDescription),
		DeployedBy:        deployer,
		DeployedBySubject: caller.Subject(ctx),
		CreatedAt:         h.clock.Now(),
	}
	deployed := h.writer.Deploy(ctx, row, digest, body)
	if deployed != nil && !rpc.IsAlreadyExists(deployed) {
		return nil, deployed
	}
	if err := h.applyTriggers(ctx, request, false); err != nil {
		return nil, err
	}
	if deployed != nil {
		return nil, deployed
	}
	return &task.DeployTaskResponse{}, nil
}

// FunctionName is the task's name without its environment, else its last part.
func FunctionName(name, environment string) string {
	if short, ok := strings.CutPrefix(name, environment+"."); ok && environment != "" {
		return short
	}
	return name[strings.LastIndexByte(name, '.')+1:]
}
