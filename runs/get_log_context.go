package runs

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
)

// GetActionLogContext implements workflowconnect.RunServiceHandler: where the logs of an attempt are. Later events that
// know nothing of logs do not hide what earlier ones said.
func (h *runHandler) GetActionLogContext(ctx context.Context, request *workflow.GetActionLogContextRequest) (*workflow.GetActionLogContextResponse, error) {
	id := ident.ActionOf(request.GetActionId())
	details, err := h.svc.actionDetails(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, attempt := range details.GetAttempts() {
		if attempt.GetAttempt() != request.GetAttempt() {
			continue
		}
		if attempt.GetLogContext() == nil {
			return nil, rpc.NotFound("attempt %d of action %s has no logs yet", request.GetAttempt(), id)
		}
		return &workflow.GetActionLogContextResponse{
			LogContext: attempt.GetLogContext(),
			Cluster:    attempt.GetCluster(),
			StartTime:  attempt.GetStartTime(),
			EndTime:    attempt.GetEndTime(),
		}, nil
	}
	return nil, rpc.NotFound("action %s has no attempt %d", id, request.GetAttempt())
}
