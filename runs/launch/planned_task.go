package launch

import (
	"cmp"
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/artifactref"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/declared"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/tasks"
)

// plannedTask is the task that an action runs.
type plannedTask struct {
	id           *task.TaskIdentifier
	spec         *task.TaskSpec
	digest, body []byte
	// notes are shown with the action.
	notes []protomap.Note
	// connector runs the task; empty if something else does.
	connector string
}

// plannedTask finds the task that a request names, or takes the one that it brings.
func (c *Creator) plannedTask(ctx context.Context, run ident.Run, request *workflow.CreateRunRequest) (*plannedTask, error) {
	switch given := request.GetTask().(type) {
	case *workflow.CreateRunRequest_TaskId:
		id := given.TaskId
		row, body, err := c.Tasks.TaskDetails(ctx, id.GetProject(), id.GetDomain(), id.GetName(), id.GetVersion())
		if err != nil {
			return nil, err
		}
		spec := &task.TaskSpec{}
		if err := proto.Unmarshal(body, spec); err != nil {
			return nil, rpc.DataLoss(err, "the stored spec of task %s cannot be read", id.GetName())
		}
		resolved := &task.TaskIdentifier{Project: row.Project, Domain: row.Domain, Name: row.Name, Version: row.Version}
		planned := &plannedTask{id: resolved, spec: spec, digest: schema.SpecDigest(schema.SpecTask, body), body: body}
		refusal, err := c.Planner.judge(ctx, run, planned)
		if err != nil {
			return nil, err
		}
		if refusal != nil { // an earlier version of the server took it
			return nil, rpc.InvalidArgument("task_id", "the deployed task %s cannot run: %s: %s", id.GetName(), refusal.Path, refusal.Words)
		}
		return planned, nil
	case *workflow.CreateRunRequest_TaskSpec:
		return c.Planner.task(ctx, "task_spec", run, nil, given.TaskSpec)
	default:
		return nil, rpc.InvalidArgument("task", "a task, its spec or a trigger is required")
	}
}

// judge notes what is not honored of a task, unless that refuses it.
func (p *Planner) judge(ctx context.Context, run ident.Run, planned *plannedTask) (*declared.Refusal, error) {
	judged, err := p.judgements.of(ctx, run, planned)
	planned.notes = append(planned.notes, judged.notes...)
	return judged.refusal, err
}

// task takes the spec of a task from a field of a request.
func (p *Planner) task(ctx context.Context, field string, run ident.Run, id *task.TaskIdentifier, spec *task.TaskSpec) (*plannedTask, error) {
	planned, err := newPlannedTask(field, run, id, spec)
	if err != nil {
		return nil, err
	}
	refusal, err := p.judge(ctx, run, planned)
	if err != nil {
		return nil, err
	}
	if refusal != nil {
		return nil, refusal.In(field)
	}
	return planned, nil
}

// newPlannedTask takes a spec from a request. Without an id, it uses that of the template; a missing project or
// domain is the run's.
func newPlannedTask(field string, run ident.Run, id *task.TaskIdentifier, spec *task.TaskSpec) (*plannedTask, error) {
	template := spec.GetTaskTemplate()
	if template == nil {
		return nil, rpc.InvalidArgument(field+".task_template", "is required")
	}
	if id.GetName() == "" {
		id = &task.TaskIdentifier{
			Project: template.GetId().GetProject(), Domain: template.GetId().GetDomain(),
			Name: template.GetId().GetName(), Version: template.GetId().GetVersion(),
		}
	}
	if id.GetName() == "" {
		return nil, rpc.InvalidArgument(field+".task_template.id.name", "is required")
	}
	id = &task.TaskIdentifier{
		Project: cmp.Or(id.GetProject(), run.Project), Domain: cmp.Or(id.GetDomain(), run.Domain),
		Name: id.GetName(), Version: id.GetVersion(),
	}
	digest, body, err := schema.EncodeSpec(schema.SpecTask, spec)
	if err != nil {
		return nil, rpc.InvalidArgument(field, "cannot be encoded: %s", err.Error())
	}
	return &plannedTask{id: id, spec: spec, digest: digest, body: body}, nil
}

// readInputs reports whether inputs at a URI may contain the data of artifacts.
func (p *plannedTask) readInputs(uri string) bool {
	return uri != "" && slices.ContainsFunc(p.spec.GetTaskTemplate().GetInterface().GetInputs().GetVariables(), func(v *core.VariableEntry) bool {
		return artifactref.HasData(v.GetValue().GetType())
	})
}

// describe fills in the fields of a task action that lists show.
func (p *plannedTask) describe(a *schema.Action) {
	a.ActionType = int16(workflow.ActionType_ACTION_TYPE_TASK)
	a.TaskProject, a.TaskDomain, a.TaskName, a.TaskVersion = p.id.GetProject(), p.id.GetDomain(), p.id.GetName(), p.id.GetVersion()
	a.TaskType = p.spec.GetTaskTemplate().GetType()
	a.EnvironmentName = p.spec.GetEnvironment().GetName()
	a.FunctionName = tasks.FunctionName(a.TaskName, a.EnvironmentName)
	a.ShortName = cmp.Or(p.spec.GetShortName(), a.FunctionName)
	a.SpecDigest = p.digest
	a.Produces = p.spec.GetTaskTemplate().GetMetadata().GetProducesArtifacts()
}
