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

// Placements reads why actions run on their clusters; worklists.PlacementReader does.
type Placements interface {
	Placement(ctx context.Context, id int64) (reason string, err error)
}

// Explainer explains why an action waits, and why it runs where it runs.
type Explainer struct {
	Actions    StandingReader
	Placements Placements
	Waits      *Waits
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
	if standing.AdmittedAt != nil && standing.Runner.OnCluster() {
		reason, err := e.Placements.Placement(ctx, standing.ID)
		if err != nil {
			return nil, err
		}
		response.Placement = &insightv1.Placement{Cluster: standing.Cluster, Reason: reason}
	}
	response.Wait, err = e.Waits.Of(ctx, standing)
	return response, err
}
