package read

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// GetActionLogContext implements workflowconnect.RunServiceHandler: it returns the log location of an attempt. Later
// events without logs do not hide that of earlier ones.
func (d *Details) GetActionLogContext(ctx context.Context, request *workflow.GetActionLogContextRequest) (*workflow.GetActionLogContextResponse, error) {
	id := ident.ActionOf(request.GetActionId())
	details, err := d.ActionDetails(ctx, id)
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
