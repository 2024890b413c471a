package runs

import (
	"context"
	"crypto/rand"

	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/internal/pgdb"
	"github.com/flyte-binary/flyte-binary/runs/retention"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// defaultExpired is how many runs a preview returns when the request does not say.
const defaultExpired = 100

// PreviewRetention implements insightv1connect.InsightServiceHandler.
func (h *insightHandler) PreviewRetention(
	ctx context.Context, request *insightv1.PreviewRetentionRequest,
) (*insightv1.PreviewRetentionResponse, error) {
	limit := int(request.GetLimit())
	if limit == 0 {
		limit = defaultExpired
	}
	preview, err := h.svc.retention.Preview(ctx, limit)
	if err != nil {
		return nil, err
	}
	response := &insightv1.PreviewRetentionResponse{TotalRuns: preview.Runs, TotalActions: preview.Actions, Enabled: preview.Enabled}
	for _, run := range preview.First {
		response.Runs = append(response.Runs, &insightv1.ExpiredRun{
			RunId: run.Run.Proto(), EndedAt: timestamppb.New(run.EndedAt), Reason: h.svc.retention.Reason(run),
		})
	}
	return response, nil
}

// NewRetention makes the part that deletes old runs, for those who want it without the service.
func NewRetention(config retention.Config, deps Deps) (*retention.Keeper, error) {
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	return newRetention(config, deps, rand.Text())
}

func newRetention(config retention.Config, deps Deps, replica string) (*retention.Keeper, error) {
	return retention.New(config, retention.Deps{
		Store: store.NewRetention(deps.Pool, replica), Blobs: deps.Blobs,
		Leases: pgdb.NewLeases(deps.Pool, deps.Clock, replica),
		Forget: func(ctx context.Context, run ident.Run) error {
			if deps.RunDeleted == nil {
				return nil
			}
			return deps.RunDeleted(ctx, run)
		},
		Clock: deps.Clock, Logger: deps.Logger.With().Str("service", "retention").Logger(), Meter: deps.Meter,
	})
}
