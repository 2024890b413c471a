package artifacts

import (
	"context"
	"fmt"
	"time"

	"github.com/flyte-binary/flyte-binary/artifacts/store"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
)

// leaseName is the lease of the loop that deletes old events.
const leaseName = "collect"

// collectBatch is how many rows one statement deletes.
const collectBatch = 1000

// collect deletes the events that were not taken and are too many.
func collect(events *store.Store, keep time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := leased.Drain(collectBatch, func(size int) (int, error) { return events.DropEvents(ctx, keep, size) })
		if err != nil {
			return fmt.Errorf("delete old artifact events: %w", err)
		}
		return nil
	}
}
