package protomap

import (
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Details builds the full details of an action: its spec, its attempts, its result. spec is the encoded message for
// the action's type; events are all events of the action, in order.
func Details(a *schema.Action, spec []byte, events []schema.Event) (*workflow.ActionDetails, error) {
	// Only conditions have their spec in the metadata, too.
	var condition []byte
	if workflow.ActionType(a.ActionType) == workflow.ActionType_ACTION_TYPE_CONDITION {
		condition = spec
	}
	metadata, err := Metadata(a, condition)
	if err != nil {
		return nil, err
	}
	out := &workflow.ActionDetails{Id: ID(a), Metadata: metadata, Status: Status(a)}
	if out.Attempts, err = Attempts(a, events); err != nil {
		return nil, err
	}
	if err := setDetailSpec(out, a, spec); err != nil {
		return nil, err
	}
	return out, setResult(out, a)
}

func setDetailSpec(out *workflow.ActionDetails, a *schema.Action, body []byte) error {
	switch workflow.ActionType(a.ActionType) {
	case workflow.ActionType_ACTION_TYPE_TRACE:
		var spec task.TraceSpec
		out.Spec = &workflow.ActionDetails_Trace{Trace: &spec}
		return decode(a, body, &spec)
	case workflow.ActionType_ACTION_TYPE_CONDITION:
		var spec workflow.ConditionAction
		out.Spec = &workflow.ActionDetails_Condition{Condition: &spec}
		return decode(a, body, &spec)
	default:
		var spec task.TaskSpec
		out.Spec = &workflow.ActionDetails_Task{Task: &spec}
		return decode(a, body, &spec)
	}
}
