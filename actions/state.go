package actions

import (
	"context"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/status"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
)

// stateHandler serves StateService, for clients that do not use ActionsService.
type stateHandler struct{ svc *Service }

var _ workflowconnect.StateServiceHandler = (*stateHandler)(nil)

// Put implements StateService. The state is the client's own text: it changes nothing about the action.
func (h *stateHandler) Put(ctx context.Context, r *workflow.PutRequest) (*workflow.PutResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, h.svc.config.CallTimeout)
	defer cancel()
	if _, err := h.svc.states.PutActionState(ctx, &enginev1.PutActionStateRequest{ActionId: r.GetActionId(), State: r.GetState()}); err != nil {
		return nil, err
	}
	return &workflow.PutResponse{ActionId: r.GetActionId(), Status: &status.Status{}}, nil
}

// Get implements StateService.
func (h *stateHandler) Get(ctx context.Context, r *workflow.GetRequest) (*workflow.GetResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, h.svc.config.CallTimeout)
	defer cancel()
	stored, err := h.svc.states.GetActionState(ctx, &enginev1.GetActionStateRequest{ActionId: r.GetActionId()})
	if err != nil {
		return nil, err
	}
	return &workflow.GetResponse{ActionId: r.GetActionId(), Status: &status.Status{}, State: stored.GetState()}, nil
}

// Watch implements StateService as WatchForUpdates of ActionsService.
func (h *stateHandler) Watch(ctx context.Context, r *workflow.WatchRequest, stream *connect.ServerStream[workflow.WatchResponse]) error {
	return h.svc.watch(ctx, r.GetParentActionId(), func(message *actions.WatchForUpdatesResponse) error {
		switch m := message.GetMessage().(type) {
		case *actions.WatchForUpdatesResponse_ActionUpdate:
			return stream.Send(&workflow.WatchResponse{Message: &workflow.WatchResponse_ActionUpdate{ActionUpdate: m.ActionUpdate}})
		case *actions.WatchForUpdatesResponse_ControlMessage:
			return stream.Send(&workflow.WatchResponse{Message: &workflow.WatchResponse_ControlMessage{ControlMessage: m.ControlMessage}})
		default:
			return nil
		}
	})
}
