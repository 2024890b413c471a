package launch_test

import (
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

// TestAChildIsCheckedHereAlone: services that enqueue children only convert their requests. Errors name the fields of those.
func TestAChildIsCheckedHereAlone(t *testing.T) {
	condition := func(r *workflow.RecordActionRequest, of *core.LiteralType) {
		r.Spec = &workflow.RecordActionRequest_Condition{Condition: &workflow.ConditionAction{Name: "c", Type: of}}
	}
	for name, test := range map[string]struct {
		spoil func(*workflow.RecordActionRequest)
		field string
	}{
		"no run":      {func(r *workflow.RecordActionRequest) { r.ActionId.Run = nil }, "action_id.run"},
		"no name":     {func(r *workflow.RecordActionRequest) { r.ActionId.Name = "" }, "action_id.name"},
		"root":        {func(r *workflow.RecordActionRequest) { r.ActionId.Name = "a0" }, "action_id.name"},
		"no parent":   {func(r *workflow.RecordActionRequest) { r.Parent = "" }, "parent_action_name"},
		"own parent":  {func(r *workflow.RecordActionRequest) { r.Parent = r.GetActionId().GetName() }, "parent_action_name"},
		"no spec":     {func(r *workflow.RecordActionRequest) { r.Spec = nil }, "spec"},
		"no template": {func(r *workflow.RecordActionRequest) { r.GetTask().Spec = &task.TaskSpec{} }, "task.spec.task_template"},
		"no type":     {func(r *workflow.RecordActionRequest) { condition(r, nil) }, "condition.type"},
		"struct": {func(r *workflow.RecordActionRequest) {
			condition(r, &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_STRUCT}})
		}, "condition.type"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			request := child(&workflow.TaskAction{Spec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{Type: "python"}}})
			test.spoil(request)
			response, err := w.parts().Recorder.RecordAction(t.Context(), request)
			require.NoError(t, err)
			require.EqualValues(t, connect.CodeInvalidArgument, response.GetStatus().GetCode())
			require.Contains(t, response.GetStatus().GetMessage(), test.field+":")
			require.Empty(t, w.actions)
		})
	}
}
