package change

import (
	"cmp"
	"context"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// StatusWriter stores a status; store.Writer does.
type StatusWriter interface {
	UpdateStatus(ctx context.Context, update store.StatusUpdate) error
}

// Updater sets the status of actions. All fields are required.
type Updater struct {
	Cache      Cache
	Conditions *Conditions
	Writer     StatusWriter
}

// UpdateActionStatus implements workflowconnect.InternalRunServiceHandler. The outcome is in the response body.
func (u *Updater) UpdateActionStatus(ctx context.Context, request *workflow.UpdateActionStatusRequest) (*workflow.UpdateActionStatusResponse, error) {
	err := u.update(ctx, request)
	return &workflow.UpdateActionStatusResponse{ActionId: request.GetActionId(), Status: rpc.StatusOf(err)}, nil
}

// update sets a status. With an output it is the value of a condition; with the phase ABORTED it aborts the subtree;
// otherwise it is a transition.
func (u *Updater) update(ctx context.Context, request *workflow.UpdateActionStatusRequest) error {
	status := request.GetStatus()
	update := store.StatusUpdate{
		Transition: store.Transition{
			Action: ident.ActionOf(request.GetActionId()),
			To: state.Position{
				Attempt: int32(status.GetAttempts()),    //nolint:gosec // attempts are few
				Phase:   state.Phase(status.GetPhase()), //nolint:gosec // an enum of few values
			},
			At:          protomap.Time(status.GetEndTime()),
			CacheStatus: int16(status.GetCacheStatus()), //nolint:gosec // an enum of few values
		},
		Output:      request.GetOutput(),
		Principal:   caller.Actor(ctx, request.GetPrincipal()),
		AbortReason: cmp.Or(request.GetAbortReason(), defaultAbortReason),
	}
	if !state.Known(update.To.Phase) {
		return rpc.InvalidArgument("status.phase", "unknown phase %d", update.To.Phase)
	}
	if update.Output != nil {
		if err := u.Conditions.check(ctx, "output", update.Action, update.Output); err != nil {
			return err
		}
	}
	if update.Output == nil {
		own := []store.Transition{update.Transition}
		if err := publish(ctx, u.Cache, own); err != nil {
			return err
		}
		update.Transition = own[0]
	}
	return u.Writer.UpdateStatus(ctx, update)
}

// UpdateActionStatusStream implements workflowconnect.InternalRunServiceHandler. Answers carry the request's nonce.
func (u *Updater) UpdateActionStatusStream(
	ctx context.Context, stream *connect.BidiStream[workflow.UpdateActionStatusStreamRequest, workflow.UpdateActionStatusStreamResponse],
) error {
	return rpc.AnswerEach(stream, func(request *workflow.UpdateActionStatusStreamRequest) (*workflow.UpdateActionStatusStreamResponse, error) {
		response, err := u.UpdateActionStatus(ctx, request.GetRequest())
		return &workflow.UpdateActionStatusStreamResponse{Response: response, Nonce: request.GetNonce()}, err
	})
}
