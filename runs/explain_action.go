package runs

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/ident"
)

// ExplainAction implements insightv1connect.InsightServiceHandler.
func (h *insightHandler) ExplainAction(ctx context.Context, request *insightv1.ExplainActionRequest) (*insightv1.ExplainActionResponse, error) {
	standing, err := h.svc.lists.Standing(ctx, ident.ActionOf(request.GetActionId()))
	if err != nil {
		return nil, err
	}
	response := &insightv1.ExplainActionResponse{Phase: common.ActionPhase(standing.Phase)}
	if standing.CacheKey != "" || standing.CacheReason != "" || standing.CacheStatus != 0 {
		response.Cache = &insightv1.CacheOutcome{
			Status: core.CatalogCacheStatus(standing.CacheStatus), Key: standing.CacheKey, Reason: standing.CacheReason,
		}
	}
	response.Wait, err = h.svc.wait(ctx, standing)
	return response, err
}
