package runs

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// UpdateActionStatus implements workflowconnect.InternalRunServiceHandler. The outcome is in the answer's body.
func (h *internalHandler) UpdateActionStatus(ctx context.Context, request *workflow.UpdateActionStatusRequest) (*workflow.UpdateActionStatusResponse, error) {
	err := h.svc.updateActionStatus(ctx, request)
	return &workflow.UpdateActionStatusResponse{ActionId: request.GetActionId(), Status: rpc.StatusOf(err)}, nil
}

// updateActionStatus sets a status. With an output it is the answer of a condition, with the phase ABORTED it aborts
// the subtree, else it is a transition.
func (s *Service) updateActionStatus(ctx context.Context, request *workflow.UpdateActionStatusRequest) error {
	status := request.GetStatus()
	update := store.StatusUpdate{
		Transition: store.Transition{
			Action: ident.ActionOf(request.GetActionId()),
			To: state.Position{
				Attempt: int32(status.GetAttempts()), //nolint:gosec // attempts are few
				Phase:   state.Phase(status.GetPhase()),
			},
			At:          timeOf(status.GetEndTime()),
			CacheStatus: int16(status.GetCacheStatus()), //nolint:gosec // an enum of few values
		},
		Output:      request.GetOutput(),
		Principal:   actor(ctx, request.GetPrincipal()),
		AbortReason: firstOf(request.GetAbortReason(), defaultAbortReason),
	}
	if !state.Known(update.To.Phase) {
		return rpc.InvalidArgument("status.phase", "the phase %d is not known", update.To.Phase)
	}
	if update.Output != nil {
		if err := s.checkSignal(ctx, "output", update.Action, update.Output); err != nil {
			return err
		}
	}
	if update.Output == nil {
		own := []store.Transition{update.Transition}
		if err := s.publish(ctx, own); err != nil {
			return err
		}
		update.Transition = own[0]
	}
	return s.writer.UpdateStatus(ctx, update)
}
