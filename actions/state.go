package actions

import (
	"context"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
)

// stateHandler serves StateService, for clients that do not use ActionsService. They only watch; Put and Get are not
// implemented.
type stateHandler struct {
	workflowconnect.UnimplementedStateServiceHandler
	svc *Service
}

var _ workflowconnect.StateServiceHandler = (*stateHandler)(nil)

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
