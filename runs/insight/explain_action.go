package insight

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
)

// StandingReader reads the data that explains why an action waits; lists.Reader does.
type StandingReader interface {
	Standing(ctx context.Context, id ident.Action) (*lists.Standing, error)
}

// Explainer explains why an action waits.
type Explainer struct {
	Actions StandingReader
	Waits   *Waits
}

// ExplainAction implements insightv1connect.InsightServiceHandler.
func (e *Explainer) ExplainAction(ctx context.Context, request *insightv1.ExplainActionRequest) (*insightv1.ExplainActionResponse, error) {
	standing, err := e.Actions.Standing(ctx, ident.ActionOf(request.GetActionId()))
	if err != nil {
		return nil, err
	}
	response := &insightv1.ExplainActionResponse{Phase: common.ActionPhase(standing.Phase)}
	if standing.CacheKey != "" || standing.CacheReason != "" || standing.CacheStatus != 0 {
		response.Cache = &insightv1.CacheOutcome{
			Status: core.CatalogCacheStatus(standing.CacheStatus), Key: standing.CacheKey, Reason: standing.CacheReason,
		}
	}
	response.Wait, err = e.Waits.Of(ctx, standing)
	return response, err
}
