package insight

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/runs/retention"
)

// defaultExpired is how many runs a preview returns when the request does not say.
const defaultExpired = 100

// Keeper finds expired runs; retention.Keeper does.
type Keeper interface {
	Preview(ctx context.Context, limit int) (retention.Preview, error)
	Reason(run retention.ExpiredRun) string
}

// Retention says which runs are about to be deleted.
type Retention struct{ Keeper Keeper }

// PreviewRetention implements insightv1connect.InsightServiceHandler.
func (r *Retention) PreviewRetention(
	ctx context.Context, request *insightv1.PreviewRetentionRequest,
) (*insightv1.PreviewRetentionResponse, error) {
	limit := int(request.GetLimit())
	if limit == 0 {
		limit = defaultExpired
	}
	preview, err := r.Keeper.Preview(ctx, limit)
	if err != nil {
		return nil, err
	}
	response := &insightv1.PreviewRetentionResponse{TotalRuns: preview.Runs, TotalActions: preview.Actions, Enabled: preview.Enabled}
	for _, run := range preview.First {
		expired := &insightv1.ExpiredRun{RunId: run.Run.Proto(), EndedAt: timestamppb.New(run.EndedAt), Reason: r.Keeper.Reason(run)}
		if run.Tracked {
			expired.RunSource = workflow.RunSource_RUN_SOURCE_TRACKED
		}
		response.Runs = append(response.Runs, expired)
	}
	return response, nil
}
