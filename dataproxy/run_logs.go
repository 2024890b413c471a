package dataproxy

import (
	"context"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
)

// runLogsHandler serves RunLogsService, which older clients use, as TailLogs of DataProxyService.
type runLogsHandler struct{ svc *Service }

var _ workflowconnect.RunLogsServiceHandler = (*runLogsHandler)(nil)

// TailLogs implements RunLogsService.
func (h *runLogsHandler) TailLogs(ctx context.Context, r *workflow.TailLogsRequest, stream *connect.ServerStream[workflow.TailLogsResponse]) error {
	request := &dataproxy.TailLogsRequest{ActionId: r.GetActionId(), Attempt: r.GetAttempt()}
	return h.svc.tailLogs(ctx, request, func(message *dataproxy.TailLogsResponse) error {
		response := &workflow.TailLogsResponse{}
		for _, logs := range message.GetLogs() {
			response.Logs = append(response.Logs, &workflow.TailLogsResponse_Logs{Lines: logs.GetLines()})
		}
		return stream.Send(response)
	})
}
