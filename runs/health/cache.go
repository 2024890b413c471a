package health

import (
	"cmp"
	"context"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/rollup"
	"github.com/flyte-binary/flyte-binary/runs/store/rollups"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

const (
	cacheDays    = 7
	maxCacheUses = 1000
	maxMisses    = 50
	maxCompared  = 1000 // ended actions among which misses are looked for
	maxEvicted   = 1000 // keys of one call
)

// CacheReader reads what the cache did; rollups.Store does.
type CacheReader interface {
	CacheDays(ctx context.Context, scope schema.Scope, since time.Time) (map[string][]int64, error)
	ReadActions(ctx context.Context, want rollups.TaskActions) (found []rollups.TaskAction, more *rollups.Place, err error)
	CachedKey(ctx context.Context, task rollups.Task, action ident.Action) (key string, err error)
}

// Evictor deletes entries of the cache; cachelink.Cache does.
type Evictor interface {
	// Evict deletes the entries of keys that actions of a place use, and returns how many there were.
	Evict(ctx context.Context, place schema.Scope, keys []string) (int, error)
}

// Cache serves CacheInsightService.
type Cache struct {
	Reader  CacheReader
	Evictor Evictor
	Compare *Comparer
	Clock   clock.Clock
}

var _ insightv1connect.CacheInsightServiceHandler = (*Cache)(nil)

var reasons = map[rollup.Cached]insightv1.CacheMissReason{
	rollup.MissNew:      insightv1.CacheMissReason_CACHE_MISS_REASON_NEW_KEY,
	rollup.MissExpired:  insightv1.CacheMissReason_CACHE_MISS_REASON_EXPIRED,
	rollup.MissGone:     insightv1.CacheMissReason_CACHE_MISS_REASON_OUTPUTS_GONE,
	rollup.MissFar:      insightv1.CacheMissReason_CACHE_MISS_REASON_OUTPUTS_FAR,
	rollup.Overwritten:  insightv1.CacheMissReason_CACHE_MISS_REASON_OVERWRITTEN,
	rollup.Off:          insightv1.CacheMissReason_CACHE_MISS_REASON_OFF,
	rollup.LookupFailed: insightv1.CacheMissReason_CACHE_MISS_REASON_LOOKUP_FAILED,
}

// ListCacheUse implements insightv1connect.CacheInsightServiceHandler.
func (c *Cache) ListCacheUse(ctx context.Context, r *insightv1.ListCacheUseRequest) (*insightv1.ListCacheUseResponse, error) {
	scope, err := placeOf(r.GetProjectId())
	if err != nil {
		return nil, err
	}
	since := rollups.Day(c.Clock.Now()).AddDate(0, 0, 1-limit(r.GetDays(), cacheDays))
	days, err := c.Reader.CacheDays(ctx, scope, since)
	if err != nil {
		return nil, err
	}
	response := &insightv1.ListCacheUseResponse{}
	missed := map[string]int64{}
	for task, counts := range days {
		use := &insightv1.CacheUse{Task: task}
		for kind, count := range counts {
			switch {
			case count == 0:
			case rollup.Cached(kind) == rollup.Hit:
				use.Hits = uint64(count) //nolint:gosec // a count
			default:
				use.Misses = append(use.Misses, &insightv1.CacheMisses{Reason: reasons[rollup.Cached(kind)], Count: uint64(count)}) //nolint:gosec // a count
				missed[task] += count
			}
		}
		response.Tasks = append(response.Tasks, use)
	}
	slices.SortFunc(response.GetTasks(), func(a, b *insightv1.CacheUse) int {
		return cmp.Or(cmp.Compare(missed[b.GetTask()], missed[a.GetTask()]), cmp.Compare(a.GetTask(), b.GetTask()))
	})
	response.Tasks = response.GetTasks()[:min(len(response.GetTasks()), maxCacheUses)]
	return response, nil
}

// ListCacheMisses implements insightv1connect.CacheInsightServiceHandler.
func (c *Cache) ListCacheMisses(ctx context.Context, r *insightv1.ListCacheMissesRequest) (*insightv1.ListCacheMissesResponse, error) {
	scope, err := placeOf(r.GetProjectId())
	if err != nil {
		return nil, err
	}
	cached, _, err := c.Reader.ReadActions(ctx, rollups.TaskActions{Task: rollups.Task{Scope: scope, Name: r.GetTask()}, Cached: true, Limit: maxCompared})
	if err != nil {
		return nil, err
	}
	response := &insightv1.ListCacheMissesResponse{}
	for i := range cached {
		a := &cached[i]
		if isHit(&a.Action) {
			continue
		}
		why := rollup.MissOf(a.CacheReason)
		miss := &insightv1.CacheMiss{ActionId: identOf(a).Proto(), EndedAt: timestamppb.New(*a.EndedAt), Reason: reasons[why], Message: a.CacheReason}
		if why == rollup.MissNew && i+1 < len(cached) {
			before := &cached[i+1]
			miss.ComparedWith = identOf(before).Proto()
			if miss.Reason, miss.Inputs, err = c.Compare.Why(ctx, a, before, len(response.GetMisses())); err != nil {
				return nil, err
			}
		}
		if response.Misses = append(response.Misses, miss); len(response.GetMisses()) == maxMisses {
			break
		}
	}
	return response, nil
}

// EvictCacheEntries implements insightv1connect.CacheInsightServiceHandler.
func (c *Cache) EvictCacheEntries(ctx context.Context, r *insightv1.EvictCacheEntriesRequest) (*insightv1.EvictCacheEntriesResponse, error) {
	scope, err := placeOf(r.GetProjectId())
	if err != nil {
		return nil, err
	}
	task := rollups.Task{Scope: scope, Name: r.GetTask()}
	if r.GetActionId() != nil {
		action := ident.ActionOf(r.GetActionId())
		if action.Run.Project != scope.Project || action.Run.Domain != scope.Domain {
			return nil, rpc.InvalidArgument("action_id.run", "is in %s/%s, not in the project and domain of the request", action.Run.Project, action.Run.Domain)
		}
		key, err := c.Reader.CachedKey(ctx, task, action)
		if err != nil {
			return nil, err
		}
		evicted, err := c.Evictor.Evict(ctx, scope, []string{key})
		return &insightv1.EvictCacheEntriesResponse{Evicted: uint32(evicted)}, err //nolint:gosec // at most two
	}
	after, err := placeOfToken(r.GetToken())
	if err != nil {
		return nil, err
	}
	found, more, err := c.Reader.ReadActions(ctx, rollups.TaskActions{Task: task, Cached: true, After: after, Limit: maxEvicted})
	if err != nil {
		return nil, err
	}
	var keys []string
	for i := range found {
		if found[i].CacheKey != "" {
			keys = append(keys, found[i].CacheKey)
		}
	}
	slices.Sort(keys)
	evicted, err := c.Evictor.Evict(ctx, scope, slices.Compact(keys))
	if err != nil {
		return nil, err
	}
	return &insightv1.EvictCacheEntriesResponse{Evicted: uint32(evicted), Token: tokenOf(more)}, nil //nolint:gosec // at most 2,000
}

func identOf(a *rollups.TaskAction) ident.Action {
	return ident.Action{Run: ident.Run{Project: a.Project, Domain: a.Domain, Name: a.RunName}, Name: a.Name}
}
