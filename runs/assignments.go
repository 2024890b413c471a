package runs

import (
	"context"

	"connectrpc.com/connect"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// WatchAssignments implements enginev1connect.EngineServiceHandler.
func (h *engineHandler) WatchAssignments(
	ctx context.Context, _ *enginev1.WatchAssignmentsRequest, stream *connect.ServerStream[enginev1.WatchAssignmentsResponse],
) error {
	return h.svc.engine.Watch(ctx, stream.Send)
}

// GetAssignments implements enginev1connect.EngineServiceHandler.
func (h *engineHandler) GetAssignments(ctx context.Context, request *enginev1.GetAssignmentsRequest) (*enginev1.GetAssignmentsResponse, error) {
	assignments, err := h.svc.engine.Get(ctx, request.GetUids())
	if err != nil {
		return nil, err
	}
	return &enginev1.GetAssignmentsResponse{Assignments: assignments}, nil
}

// GetActionStorage implements enginev1connect.EngineServiceHandler.
func (h *engineHandler) GetActionStorage(ctx context.Context, request *enginev1.GetActionStorageRequest) (*enginev1.GetActionStorageResponse, error) {
	at, err := h.svc.live.Storage(ctx, ident.ActionOf(request.GetActionId()))
	if err != nil {
		return nil, err
	}
	return &enginev1.GetActionStorageResponse{
		InputUri:      at.InputURI,
		RunOutputBase: at.RunOutputBase,
		Attempts:      uint32(at.Attempt), //nolint:gosec // counts from 1
		Finished:      state.Terminal(at.Phase),
		Phase:         common.ActionPhase(at.Phase),
	}, nil
}
