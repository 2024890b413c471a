package actions

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Update implements ActionsService.
func (h *actionsHandler) Update(ctx context.Context, r *actions.UpdateRequest) (*actions.UpdateResponse, error) {
	if r.GetActionId() == nil {
		return nil, rpc.InvalidArgument("action_id", "is required")
	}
	if r.GetStatus() == nil {
		return nil, rpc.InvalidArgument("status", "is required")
	}
	status := proto.CloneOf(r.GetStatus())
	status.Attempts = r.GetAttempt()
	err := h.svc.update(ctx, &workflow.UpdateActionStatusRequest{ActionId: r.GetActionId(), Status: status})
	if err != nil {
		return nil, err
	}
	return &actions.UpdateResponse{}, nil
}

func (s *Service) update(ctx context.Context, r *workflow.UpdateActionStatusRequest) error {
	ctx, cancel := context.WithTimeout(ctx, s.config.CallTimeout)
	defer cancel()
	response, err := s.recorder.UpdateActionStatus(ctx, r)
	return outcome(response.GetStatus(), err)
}
