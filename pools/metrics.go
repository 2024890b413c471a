package pools

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/flyte-binary/flyte-binary/pools/store"
)

// scrapeTimeout bounds the query of one scrape: a database that does not answer must not hide the metrics of other parts.
const scrapeTimeout = time.Second

// meters are the metrics of the service. None has the name of an environment as a label: there may be any number of them.
type meters struct {
	latency  metric.Float64Histogram
	attempts metric.Int64Counter
	lost     metric.Int64Counter
}

func newMeters(provider metric.MeterProvider, rows *store.Store) (*meters, error) {
	if provider == nil {
		provider = noop.NewMeterProvider()
	}
	meter := provider.Meter("github.com/flyte-binary/flyte-binary/pools")
	m := &meters{}
	var err error
	if m.latency, err = meter.Float64Histogram("flyte.workers.assignment.latency", metric.WithUnit("s"),
		metric.WithDescription("from when an action may begin until a worker has it"),
		metric.WithExplicitBucketBoundaries(.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300)); err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	if m.attempts, err = meter.Int64Counter("flyte.workers.attempts",
		metric.WithDescription("attempts that have begun in a worker, by start: in or from a process with the code loaded, forked without the code, or cold")); err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	if m.lost, err = meter.Int64Counter("flyte.workers.lost",
		metric.WithDescription("workers that were given up because they were silent for longer than their lease")); err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	gauge := func(name, description string) (g metric.Int64ObservableGauge) {
		if err == nil {
			g, err = meter.Int64ObservableGauge(name, metric.WithDescription(description))
		}
		return g
	}
	pools := gauge("flyte.workers.pools", "pools of reusable environments")
	count := gauge("flyte.workers.count", "workers, by state: starting, live or draining")
	slots := gauge("flyte.workers.slots", "slots of live workers, by state: free or taken")
	waiting := gauge("flyte.workers.waiting", "actions that wait for a slot of a worker")
	if err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	_, err = meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
		defer cancel()
		f, err := rows.Figures(ctx)
		if err != nil {
			return err
		}
		state := func(name string) metric.ObserveOption { return metric.WithAttributes(attribute.String("state", name)) }
		o.ObserveInt64(pools, f.Pools)
		o.ObserveInt64(count, f.Starting, state("starting"))
		o.ObserveInt64(count, f.Live, state("live"))
		o.ObserveInt64(count, f.Draining, state("draining"))
		o.ObserveInt64(slots, max(0, f.Slots-f.Taken), state("free"))
		o.ObserveInt64(slots, f.Taken, state("taken"))
		o.ObserveInt64(waiting, f.Waiting)
		return nil
	}, pools, count, slots, waiting)
	if err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	return m, nil
}

// claimed records how long an action waited for its worker.
func (m *meters) claimed(ctx context.Context, a *store.Action) {
	if a.Claimed != nil {
		m.latency.Record(ctx, max(0, a.Claimed.Sub(a.Offered).Seconds()))
	}
}

// begun counts an attempt whose process has begun.
func (m *meters) begun(ctx context.Context, start store.Start) {
	kind := "cold"
	switch {
	case start.Warm && start.Slow == "":
		kind = "loaded"
	case start.Warm:
		kind = "forked"
	}
	m.attempts.Add(ctx, 1, metric.WithAttributes(attribute.String("start", kind)))
}
