package apps

import (
	"context"

	"connectrpc.com/connect"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
)

type logs struct {
	config  Config
	pods    map[string]PodLogs
	blobs   Blobs
	clock   clock.Clock
	streams chan struct{}
}

func (h *handler) TailLogs(context.Context, *app.TailLogsRequest, *connect.ServerStream[app.TailLogsResponse]) error {
	return rpc.Unimplemented("not yet")
}

var _ = enginev1.AppProblem{}

type insights struct {
	insightv1connect.UnimplementedAppInsightServiceHandler
}
