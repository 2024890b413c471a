package cachelink

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// lookUp settles actions that are held for a lookup, on every replica: those of its own commits at once, those that
// another replica left behind by the poll. Settling twice changes nothing.
func (c *Cache) lookUp(ctx context.Context) {
	for {
		if err := c.drain(ctx); err != nil && ctx.Err() == nil {
			c.deps.Logger.Warn().Err(err).Msg("settling cache lookups failed; retrying")
		}
		held := func() bool { return c.deps.Lookups.Take().Held }
		if clock.AwaitThat(ctx, c.deps.Clock, c.config.Poll, c.deps.Lookups.Ready(), held) != nil {
			return
		}
	}
}

// drain looks up until no action is held, or no progress is possible.
func (c *Cache) drain(ctx context.Context) error {
	for {
		held, err := c.deps.Reader.Held(ctx, schema.HoldCache, 0, c.config.Batch)
		if err != nil || len(held) == 0 {
			return err
		}
		settlements, err := c.lookUpAll(ctx, held)
		if err != nil {
			return err
		}
		settled, err := c.deps.Settler.Settle(ctx, settlements)
		if err != nil || settled == 0 {
			return err
		}
	}
}

// outcome is the result of a lookup.
type outcome struct {
	entry  *found
	reason string
	err    error
}

func (c *Cache) lookUpAll(ctx context.Context, held []worklists.Cacheable) ([]store.Settlement, error) {
	wishes, err := c.wishes.of(ctx, held)
	if err != nil {
		return nil, err
	}
	outcomes := c.outcomes(ctx, held, wishes)
	if ctx.Err() != nil {
		return nil, ctx.Err() // no lookup failed; this loop was stopped
	}
	settlements := make([]store.Settlement, len(held))
	for i := range held {
		a, wish := &held[i], wishes[i]
		s := c.decide(ctx, a, wish, outcomes[keyOf(a, wish)])
		s.RunID, s.ID, s.From = a.RunID, a.ID, schema.HoldCache
		if s.Hit == nil && wish.Serialize && c.On() {
			s.To = schema.HoldReservation // one of them will compute it; the keeper decides which
		}
		settlements[i] = s
	}
	return settlements, nil
}

// outcomes looks up every key once; none when the cache is off.
func (c *Cache) outcomes(ctx context.Context, actions []worklists.Cacheable, wishes []Wish) map[key]outcome {
	if !c.On() {
		return nil
	}
	known := map[key]outcome{}
	var keys []key
	for i := range actions {
		k := keyOf(&actions[i], wishes[i])
		if _, ok := known[k]; !ok {
			known[k] = outcome{}
			keys = append(keys, k)
		}
	}
	var mu sync.Mutex
	_ = each(keys, c.config.Concurrency, func(k key) error {
		entry, reason, err := c.catalog.get(ctx, k)
		mu.Lock()
		defer mu.Unlock()
		known[k] = outcome{entry, reason, err}
		return nil
	})
	return known
}

// decide turns a lookup into the settlement of one action.
func (c *Cache) decide(ctx context.Context, a *worklists.Cacheable, wish Wish, o outcome) store.Settlement {
	switch {
	case !c.On():
		return store.Settlement{CacheStatus: int16(core.CatalogCacheStatus_CACHE_SKIPPED), Reason: ReasonOff}
	case o.err != nil:
		return c.failed(a, o.err)
	case o.entry == nil:
		return store.Settlement{CacheStatus: int16(core.CatalogCacheStatus_CACHE_MISS), Reason: o.reason}
	}
	if age := c.deps.Clock.Now().Sub(o.entry.updatedAt); wish.MaxAge > 0 && age > wish.MaxAge {
		return store.Settlement{
			CacheStatus: int16(core.CatalogCacheStatus_CACHE_MISS),
			Reason:      fmt.Sprintf("expired by max age: the entry is %s old and %s is allowed", age.Round(time.Second), wish.MaxAge),
		}
	}
	far, err := c.far(ctx, a.ID, o.entry.uri)
	switch {
	case err != nil:
		return c.failed(a, err)
	case far != "":
		return store.Settlement{CacheStatus: int16(core.CatalogCacheStatus_CACHE_MISS), Reason: far}
	}
	return store.Settlement{
		CacheStatus: int16(core.CatalogCacheStatus_CACHE_HIT), Reason: reasonOfHit(o.entry),
		Hit: &store.Hit{OutputURI: o.entry.uri, Event: c.hitEvent(a, o.entry)},
	}
}

func (c *Cache) failed(a *worklists.Cacheable, err error) store.Settlement {
	c.deps.Logger.Warn().Err(err).Stringer("action", a.Ident()).Msg("cache lookup failed")
	return store.Settlement{CacheStatus: int16(core.CatalogCacheStatus_CACHE_LOOKUP_FAILURE), Reason: "lookup failed: " + message(err)}
}

// far says why the caller of an action cannot read outputs; empty if it can.
func (c *Cache) far(ctx context.Context, actionID int64, uri string) (string, error) {
	if c.deps.Far == nil {
		return "", nil
	}
	return c.deps.Far(ctx, actionID, uri)
}

// Reasons that need no lookup.
const (
	ReasonOff       = "cache off: this installation does not use it"
	ReasonOverwrite = "overwritten by request: the run asks to compute it again"
)

func reasonOfHit(entry *found) string {
	if entry.source == nil {
		return "outputs of " + entry.uri
	}
	id := entry.source.GetActionId()
	return fmt.Sprintf("computed by action %s of run %s in %s/%s", id.GetName(), id.GetRun().GetName(), id.GetRun().GetProject(), id.GetRun().GetDomain())
}
