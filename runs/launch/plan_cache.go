package launch

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/cachelink"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// maxCacheKey is the longest cache key in bytes.
const maxCacheKey = 512

// planCache says whether the action's outputs are looked up before it runs. An action without a key has nothing to do
// with the cache.
func (p *Planner) planCache(_ context.Context, a *schema.Action, planned *plannedTask, run *runContext) error {
	if len(a.CacheKey) > maxCacheKey {
		return rpc.InvalidArgument("task.cache_key", "must have at most %d bytes", maxCacheKey)
	}
	if !planned.spec.GetTaskTemplate().GetMetadata().GetDiscoverable() {
		a.CacheKey = "" // a key alone does not make outputs reusable
	}
	if a.CacheKey == "" {
		return nil
	}
	wish := p.Cache.WishOf(planned.spec, run.Spec)
	switch {
	case !p.Cache.On():
		a.CacheStatus, a.CacheReason = int16(core.CatalogCacheStatus_CACHE_SKIPPED), cachelink.ReasonOff
	case !wish.Overwrite:
		a.Hold = schema.HoldCache
	default:
		a.CacheStatus, a.CacheReason = int16(core.CatalogCacheStatus_CACHE_SKIPPED), cachelink.ReasonOverwrite
		if wish.Serialize {
			a.Hold = schema.HoldReservation
		}
	}
	return nil
}
