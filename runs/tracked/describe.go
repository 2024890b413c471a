package tracked

import (
	"cmp"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/codebundle"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/tasks"
)

// describeTask fills in what lists show of a task. Nothing here runs the task, so nothing that its spec declares is
// honored or refused. Only code that the spec names is checked, unless access is nil: people can download it.
func describeTask(field string, run ident.Run, id *task.TaskIdentifier, spec *task.TaskSpec, access Access, a *schema.Action) (store.NewSpec, error) {
	template := spec.GetTaskTemplate()
	if template == nil {
		return store.NewSpec{}, rpc.InvalidArgument(field+".task_template", "is required")
	}
	known := template.GetId()
	name := cmp.Or(id.GetName(), known.GetName())
	if name == "" {
		return store.NewSpec{}, rpc.InvalidArgument(field+".task_template.id.name", "is required")
	}
	if uri := codebundle.URI(template); uri != "" && access != nil {
		if err := access.Code(field+".task_template", uri, placeOf(run)); err != nil {
			return store.NewSpec{}, err
		}
	}
	encoded, err := encodeSpec(schema.SpecTask, field, spec)
	if err != nil {
		return store.NewSpec{}, err
	}
	a.ActionType = int16(workflow.ActionType_ACTION_TYPE_TASK)
	a.TaskName = name
	a.TaskProject = cmp.Or(id.GetProject(), known.GetProject(), run.Project)
	a.TaskDomain = cmp.Or(id.GetDomain(), known.GetDomain(), run.Domain)
	a.TaskVersion = cmp.Or(id.GetVersion(), known.GetVersion())
	a.TaskType = template.GetType()
	a.EnvironmentName = spec.GetEnvironment().GetName()
	a.FunctionName = tasks.FunctionName(a.TaskName, a.EnvironmentName)
	a.ShortName = cmp.Or(spec.GetShortName(), a.FunctionName)
	a.SpecDigest = encoded.Digest
	return encoded, nil
}

func describeTrace(trace *workflow.TraceAction, a *schema.Action) (store.NewSpec, error) {
	if trace.GetName() == "" {
		return store.NewSpec{}, rpc.InvalidArgument("trace.name", "is required")
	}
	encoded, err := encodeSpec(schema.SpecTrace, "trace.spec", trace.GetSpec())
	a.ActionType = int16(workflow.ActionType_ACTION_TYPE_TRACE)
	a.TaskName, a.FunctionName, a.ShortName = trace.GetName(), trace.GetName(), trace.GetName()
	a.SpecDigest = encoded.Digest
	return encoded, err
}

func encodeSpec(kind schema.SpecKind, field string, message proto.Message) (store.NewSpec, error) {
	digest, body, err := schema.EncodeSpec(kind, message)
	if err != nil {
		return store.NewSpec{}, rpc.InvalidArgument(field, "cannot be encoded: %s", err.Error())
	}
	return store.NewSpec{Kind: kind, Digest: digest, Body: body}, nil
}
