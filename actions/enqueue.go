package actions

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/condition"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Enqueue implements ActionsService: it records the action as a child of its parent. Doing so again is not an error. The
// environment, labels and limits of the run are the root's; a child's request has none.
func (h *actionsHandler) Enqueue(ctx context.Context, r *actions.EnqueueRequest) (*actions.EnqueueResponse, error) {
	if err := h.svc.enqueue(ctx, r.GetAction()); err != nil {
		return nil, err
	}
	return &actions.EnqueueResponse{}, nil
}

func (s *Service) enqueue(ctx context.Context, action *actions.Action) error {
	request, err := recordRequest(action)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.CallTimeout)
	defer cancel()
	response, err := s.recorder.RecordAction(ctx, request)
	return enqueueAnswer(response.GetStatus(), err)
}

func recordRequest(action *actions.Action) (*workflow.RecordActionRequest, error) {
	switch {
	case action.GetActionId().GetRun() == nil || action.GetActionId().GetName() == "":
		return nil, rpc.InvalidArgument("action.action_id", "the run and the name are required")
	case action.GetParentActionName() == "":
		return nil, rpc.InvalidArgument("action.parent_action_name", "is required: an action is enqueued by its parent; create runs with CreateRun")
	case action.GetActionId().GetName() == ident.RootAction:
		return nil, rpc.InvalidArgument("action.action_id.name", "%s is the root action", ident.RootAction)
	case action.GetParentActionName() == action.GetActionId().GetName():
		return nil, rpc.InvalidArgument("action.parent_action_name", "an action cannot be its own parent")
	}
	request := &workflow.RecordActionRequest{
		ActionId:      action.GetActionId(),
		Parent:        action.GetParentActionName(),
		Group:         action.GetGroup(),
		Subject:       action.GetSubject(),
		InputUri:      action.GetInputUri(),
		RecoveredFrom: action.GetRecoveredFrom(),
	}
	switch spec := action.GetSpec().(type) {
	case *actions.Action_Task:
		if spec.Task.GetSpec().GetTaskTemplate() == nil {
			return nil, rpc.InvalidArgument("action.task.spec.task_template", "is required")
		}
		request.Spec = &workflow.RecordActionRequest_Task{Task: spec.Task}
	case *actions.Action_Trace:
		request.Spec = &workflow.RecordActionRequest_Trace{Trace: spec.Trace}
	case *actions.Action_Condition:
		if !condition.TypeAllowed(spec.Condition.GetType()) {
			return nil, rpc.InvalidArgument("action.condition.type", "%s", condition.TypeRule)
		}
		request.Spec = &workflow.RecordActionRequest_Condition{Condition: spec.Condition}
	default:
		return nil, rpc.InvalidArgument("action.spec", "one of task, trace and condition is required")
	}
	return request, nil
}
