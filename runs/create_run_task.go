package runs

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// plannedTask is the task that an action runs.
type plannedTask struct {
	id           *task.TaskIdentifier
	spec         *task.TaskSpec
	digest, body []byte
}

// plannedTask finds the task that a request names, or takes the one that it brings.
func (s *Service) plannedTask(ctx context.Context, run ident.Run, request *workflow.CreateRunRequest) (*plannedTask, error) {
	switch given := request.GetTask().(type) {
	case *workflow.CreateRunRequest_TaskId:
		id := given.TaskId
		row, body, err := s.lists.TaskDetails(ctx, id.GetProject(), id.GetDomain(), id.GetName(), id.GetVersion())
		if err != nil {
			return nil, err
		}
		spec := &task.TaskSpec{}
		if err := proto.Unmarshal(body, spec); err != nil {
			return nil, rpc.DataLoss(err, "the stored spec of task %s cannot be read", id.GetName())
		}
		resolved := &task.TaskIdentifier{Project: row.Project, Domain: row.Domain, Name: row.Name, Version: row.Version}
		return &plannedTask{id: resolved, spec: spec, digest: store.SpecDigest(store.SpecTask, body), body: body}, nil
	case *workflow.CreateRunRequest_TaskSpec:
		return newPlannedTask("task_spec", run, nil, given.TaskSpec)
	case *workflow.CreateRunRequest_TriggerName:
		return nil, rpc.NotFound("trigger %s of task %s does not exist", given.TriggerName.GetName(), given.TriggerName.GetTaskName())
	default:
		return nil, rpc.InvalidArgument("task", "a task, its spec or a trigger is needed")
	}
}

// newPlannedTask takes a spec that came with a request. Without an id, that of its template counts; what is missing of
// project and domain is the run's.
func newPlannedTask(field string, run ident.Run, id *task.TaskIdentifier, spec *task.TaskSpec) (*plannedTask, error) {
	template := spec.GetTaskTemplate()
	if template == nil {
		return nil, rpc.InvalidArgument(field+".task_template", "is needed")
	}
	if id.GetName() == "" {
		id = &task.TaskIdentifier{
			Project: template.GetId().GetProject(), Domain: template.GetId().GetDomain(),
			Name: template.GetId().GetName(), Version: template.GetId().GetVersion(),
		}
	}
	if id.GetName() == "" {
		return nil, rpc.InvalidArgument(field+".task_template.id.name", "is needed")
	}
	id = &task.TaskIdentifier{
		Project: firstOf(id.GetProject(), run.Project), Domain: firstOf(id.GetDomain(), run.Domain),
		Name: id.GetName(), Version: id.GetVersion(),
	}
	digest, body, err := store.EncodeSpec(store.SpecTask, spec)
	if err != nil {
		return nil, rpc.InvalidArgument(field, "cannot be encoded: %s", err.Error())
	}
	return &plannedTask{id: id, spec: spec, digest: digest, body: body}, nil
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// describe fills in what lists show of a task action.
func (p *plannedTask) describe(a *store.Action) {
	a.ActionType = int16(workflow.ActionType_ACTION_TYPE_TASK)
	a.TaskProject, a.TaskDomain, a.TaskName, a.TaskVersion = p.id.GetProject(), p.id.GetDomain(), p.id.GetName(), p.id.GetVersion()
	a.TaskType = p.spec.GetTaskTemplate().GetType()
	a.EnvironmentName = p.spec.GetEnvironment().GetName()
	a.FunctionName = functionName(a.TaskName, a.EnvironmentName)
	a.ShortName = firstOf(p.spec.GetShortName(), a.FunctionName)
	a.SpecDigest = p.digest
}
