package cacheservice

import (
	"context"
	"fmt"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/cache_service/store"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
)

// leaseName is the lease of the loop that deletes what is old.
const leaseName = "collect"

// collectBatch is how many rows one statement deletes.
const collectBatch = 1000

// collect deletes expired reservations and old entries.
func collect(config Config, rows *store.Store) func(context.Context) error {
	return func(ctx context.Context) error {
		reservations, err := leased.Drain(collectBatch, func(size int) (int, error) { return rows.CollectReservations(ctx, size) })
		outputs := 0
		if err == nil && config.KeepOutputs > 0 {
			outputs, err = leased.Drain(collectBatch, func(size int) (int, error) { return rows.CollectOutputs(ctx, config.KeepOutputs, size) })
		}
		if reservations+outputs > 0 {
			zerolog.Ctx(ctx).Info().Int("reservations", reservations).Int("entries", outputs).Msg("deleted expired cache reservations and entries")
		}
		if err != nil {
			return fmt.Errorf("delete expired reservations and old entries: %w", err)
		}
		return nil
	}
}
