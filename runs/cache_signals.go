package runs

import (
	"github.com/flyte-binary/flyte-binary/internal/pgdb"
	"github.com/flyte-binary/flyte-binary/runs/caching"
	"github.com/flyte-binary/flyte-binary/runs/engine"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// newCache is the engine's side of the cache.
func newCache(s *Service, deps Deps) *caching.Cache {
	return caching.New(s.config.Cache, caching.Deps{
		Scoped: deps.Cache, Global: deps.GlobalCache, Reader: store.NewCacheReader(deps.Pool), Settler: s.writer,
		Keys: store.NewReservedKeys(deps.Pool), Specs: s.live, Blobs: deps.Blobs,
		Leases:  pgdb.NewLeases(deps.Pool, deps.Clock, s.replica),
		Lookups: cacheSignals{s.feed.Subscribe()}, Waits: cacheSignals{s.feed.Subscribe()},
		Clock: deps.Clock, Logger: s.logger,
	})
}

// cacheSignals shows the live feed as the cache wants to see it.
type cacheSignals struct{ *engine.Subscription }

// Take implements caching.Signals.
func (c cacheSignals) Take() caching.Happened {
	changes := c.Subscription.Take()
	happened := caching.Happened{Held: changes.Held, Elsewhere: changes.Resync || len(changes.Runs) > 0}
	for id, ref := range changes.Live {
		if !ref.Live {
			happened.Ended = append(happened.Ended, id)
		}
	}
	return happened
}
