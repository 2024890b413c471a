package actions

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Abort implements ActionsService: the action and all below it are aborted. An action that has ended stays as it is.
func (h *actionsHandler) Abort(ctx context.Context, r *actions.AbortRequest) (*actions.AbortResponse, error) {
	if err := h.svc.abort(ctx, r.GetActionId(), r.Reason, r.GetAbortedBy()); err != nil {
		return nil, err
	}
	return &actions.AbortResponse{}, nil
}

func (s *Service) abort(ctx context.Context, id *common.ActionIdentifier, reason *string, by *common.EnrichedIdentity) error {
	if id == nil {
		return rpc.InvalidArgument("action_id", "is required")
	}
	return s.update(ctx, &workflow.UpdateActionStatusRequest{
		ActionId: id,
		// The contract requires an attempt; an abort ends whichever is current.
		Status:      &workflow.ActionStatus{Phase: common.ActionPhase_ACTION_PHASE_ABORTED, Attempts: 1},
		Principal:   by,
		AbortReason: reason,
	})
}
