package triggers

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/flyte-binary/flyte-binary/triggers/store"
)

// scrapeTimeout bounds the query of one scrape: a database that does not answer must not hide the metrics of other parts.
const scrapeTimeout = time.Second

// meters are the metrics of the scheduler.
type meters struct {
	slots    metric.Int64Counter
	lateness metric.Float64Histogram
}

// newMeters registers the metrics of the scheduler. The backlog is counted by each scrape, since any process, also one
// without the lease, may be asked.
func newMeters(provider metric.MeterProvider, rows *store.Store) (*meters, error) {
	meter := provider.Meter("github.com/flyte-binary/flyte-binary/triggers")
	m := &meters{}
	var err error
	if m.slots, err = meter.Int64Counter("flyte.triggers.slots", metric.WithDescription("slots of triggers, by outcome")); err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	if m.lateness, err = meter.Float64Histogram("flyte.triggers.lateness", metric.WithUnit("s"),
		metric.WithDescription("from when a slot was due, with its jitter, until its run was created"),
		metric.WithExplicitBucketBoundaries(.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 3600)); err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	_, err = meter.Int64ObservableGauge("flyte.triggers.backlog", metric.WithDescription("slots that are due and have no run yet"),
		metric.WithInt64Callback(func(ctx context.Context, o metric.Int64Observer) error {
			ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
			defer cancel()
			count, err := rows.Backlog(ctx)
			if err == nil {
				o.Observe(count)
			}
			return err
		}))
	if err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	return m, nil
}

func (m *meters) settled(ctx context.Context, result string) {
	m.slots.Add(ctx, 1, metric.WithAttributes(attribute.String("result", result)))
}

// late records how late a run was created; never less than 0, also if the clock was set back.
func (m *meters) late(ctx context.Context, by time.Duration) {
	m.lateness.Record(ctx, max(0, by.Seconds()))
}
