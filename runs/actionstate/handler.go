// Package actionstate keeps the text that clients of StateService store for an action. The server does not read it. It
// builds on runs/store.
package actionstate

import (
	"context"
	"time"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// maxBytes bounds the state of one action.
const maxBytes = 256 << 10

// States stores the texts; catalog.ActionStates does.
type States interface {
	Put(ctx context.Context, id ident.Action, state string, now time.Time) error
	Get(ctx context.Context, id ident.Action) (string, error)
}

// Handler serves ActionStateService. Both fields are required.
type Handler struct {
	States States
	Clock  clock.Clock
}

var _ enginev1connect.ActionStateServiceHandler = (*Handler)(nil)

// PutActionState implements enginev1connect.ActionStateServiceHandler.
func (h *Handler) PutActionState(ctx context.Context, r *enginev1.PutActionStateRequest) (*enginev1.PutActionStateResponse, error) {
	if size := len(r.GetState()); size > maxBytes {
		return nil, rpc.InvalidArgument("state", "must have at most %[2]d bytes, got %[1]d", size, maxBytes)
	}
	if err := h.States.Put(ctx, ident.ActionOf(r.GetActionId()), r.GetState(), h.Clock.Now()); err != nil {
		return nil, err
	}
	return &enginev1.PutActionStateResponse{}, nil
}

// GetActionState implements enginev1connect.ActionStateServiceHandler.
func (h *Handler) GetActionState(ctx context.Context, r *enginev1.GetActionStateRequest) (*enginev1.GetActionStateResponse, error) {
	state, err := h.States.Get(ctx, ident.ActionOf(r.GetActionId()))
	if err != nil {
		return nil, err
	}
	return &enginev1.GetActionStateResponse{State: state}, nil
}
