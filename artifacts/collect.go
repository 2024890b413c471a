package artifacts

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/artifacts/store"
	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/internal/lifecycle"
)

// leaseName is the lease of the collector.
const leaseName = "collect"

// collectBatch is how many rows one statement deletes.
const collectBatch = 1000

// leases runs work while a lease is held; pgdb.Leases is one.
type leases interface {
	Hold(ctx context.Context, name string, d time.Duration, work func(context.Context) error) error
}

// collector deletes events that were not taken for a long time, on one replica.
type collector struct {
	lifecycle.Background
	config Config
	store  *store.Store
	leases leases
	clock  clock.Clock
	logger zerolog.Logger
}

// Start implements lifecycle.Part.
func (c *collector) Start(ctx context.Context) error {
	return c.Run(c.logger.WithContext(ctx), func(ctx context.Context) {
		if err := c.leases.Hold(ctx, leaseName, c.config.Lease, c.work); err != nil {
			c.logger.Error().Err(err).Msg("artifact collection loop stopped")
		}
	})
}

// work collects until the lease or the process ends. What could not be deleted now is deleted the next time.
func (c *collector) work(ctx context.Context) error {
	for {
		for {
			n, err := c.store.DropEvents(ctx, c.config.KeepEvents, collectBatch)
			if err != nil && ctx.Err() == nil {
				c.logger.Warn().Err(err).Msg("deleting old artifact events failed; retrying")
			}
			if err != nil || n < collectBatch {
				break
			}
		}
		if clock.Sleep(ctx, c.clock, c.config.CollectEvery) != nil {
			return nil //nolint:nilerr // the context has ended, as it was asked to
		}
	}
}
