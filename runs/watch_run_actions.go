package runs

import (
	"context"

	"connectrpc.com/connect"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
)

// WatchRunActions implements insightv1connect.InsightServiceHandler.
func (h *insightHandler) WatchRunActions(ctx context.Context, req *insightv1.WatchRunActionsRequest, stream *connect.ServerStream[insightv1.WatchRunActionsResponse]) error {
	return h.svc.streams.WatchRunActions(ctx, req, stream)
}
