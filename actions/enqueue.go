package actions

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

// Enqueue implements ActionsService: it records the action as a child of its parent. Doing so again is not an error. The
// environment, labels and limits of the run are the root's; a child's request has none.
func (h *actionsHandler) Enqueue(ctx context.Context, r *actions.EnqueueRequest) (*actions.EnqueueResponse, error) {
	if err := h.svc.enqueue(ctx, recordRequest(r.GetAction())); err != nil {
		return nil, err
	}
	return &actions.EnqueueResponse{}, nil
}

// enqueue records a child. The runs service alone checks it.
func (s *Service) enqueue(ctx context.Context, request *workflow.RecordActionRequest) error {
	ctx, cancel := context.WithTimeout(ctx, s.config.CallTimeout)
	defer cancel()
	response, err := s.recorder.RecordAction(ctx, request)
	return enqueueAnswer(response.GetStatus(), err)
}

// recordRequest leaves the subject out: an action belongs to the creator of its run, whatever its program says.
func recordRequest(action *actions.Action) *workflow.RecordActionRequest {
	request := &workflow.RecordActionRequest{
		ActionId:      action.GetActionId(),
		Parent:        action.GetParentActionName(),
		Group:         action.GetGroup(),
		InputUri:      action.GetInputUri(),
		RecoveredFrom: action.GetRecoveredFrom(),
	}
	switch spec := action.GetSpec().(type) {
	case *actions.Action_Task:
		request.Spec = &workflow.RecordActionRequest_Task{Task: spec.Task}
	case *actions.Action_Trace:
		request.Spec = &workflow.RecordActionRequest_Trace{Trace: spec.Trace}
	case *actions.Action_Condition:
		request.Spec = &workflow.RecordActionRequest_Condition{Condition: spec.Condition}
	}
	return request
}
