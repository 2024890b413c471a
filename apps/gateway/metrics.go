package gateway

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// otherApps is the label of the apps that have no metrics of their own.
const otherApps = "other"

// meters are the metrics of the gateway. The first apps with requests have series of their own; the number of series is
// bounded, whatever the number of apps.
type meters struct {
	wakes metric.Int64Counter
	waits metric.Float64Histogram
	limit int
	open  atomic.Int64

	mu     sync.Mutex
	series map[*app]*series // GUARDED_BY(mu)
	other  series
}

// series are the counts of one label.
type series struct {
	label   string
	results [results]atomic.Int64
}

func newMeters(provider metric.MeterProvider, limit int, line *line) (*meters, error) {
	meter := provider.Meter("github.com/flyte-binary/flyte-binary/apps/gateway")
	m := &meters{limit: limit, series: map[*app]*series{}, other: series{label: otherApps}}
	var err error
	if m.wakes, err = meter.Int64Counter("flyte.gateway.wakes", metric.WithDescription("calls that woke a sleeping app, by outcome")); err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	if m.waits, err = meter.Float64Histogram("flyte.gateway.wait", metric.WithUnit("s"),
		metric.WithDescription("how long requests that found no replica with room waited for one, by outcome"),
		metric.WithExplicitBucketBoundaries(.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300)); err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	if _, err = meter.Int64ObservableCounter("flyte.gateway.requests", metric.WithDescription("requests of apps that ended, by app and result"),
		metric.WithInt64Callback(m.observe)); err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	for name, gauge := range map[string]struct {
		about string
		value *atomic.Int64
	}{
		"flyte.gateway.open":    {"requests of apps that are in flight or wait", &m.open},
		"flyte.gateway.waiting": {"requests that wait for a replica of their app", &line.waiting},
	} {
		if _, err = meter.Int64ObservableGauge(name, metric.WithDescription(gauge.about),
			metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
				o.Observe(gauge.value.Load())
				return nil
			})); err != nil {
			return nil, fmt.Errorf("make metric: %w", err)
		}
	}
	return m, nil
}

func (m *meters) enter(a *app) {
	m.open.Add(1)
	if a.series.Load() != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.other
	if len(m.series) < m.limit {
		s = &series{label: pathKey(a.route.Load())}
		m.series[a] = s
	}
	a.series.Store(s)
}

func (m *meters) leave(a *app, r result) {
	m.open.Add(-1)
	a.series.Load().results[r].Add(1)
}

// forget ends the series of an app that is gone.
func (m *meters) forget(a *app) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.series, a)
}

func (m *meters) observe(_ context.Context, o metric.Int64Observer) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.other.observe(o)
	for _, s := range m.series {
		s.observe(o)
	}
	return nil
}

func (s *series) observe(o metric.Int64Observer) {
	for r := range s.results {
		if count := s.results[r].Load(); count > 0 {
			o.Observe(count, metric.WithAttributes(attribute.String("app", s.label), attribute.String("result", result(r).String())))
		}
	}
}

func (m *meters) woke(ctx context.Context, err error) {
	m.wakes.Add(context.WithoutCancel(ctx), 1, metric.WithAttributes(outcome(err)))
}

// waited counts a request that waited for a replica.
func (m *meters) waited(ctx context.Context, d time.Duration, err error) {
	m.waits.Record(context.WithoutCancel(ctx), d.Seconds(), metric.WithAttributes(outcome(err)))
}

func outcome(err error) attribute.KeyValue {
	if err != nil {
		return attribute.String("result", "error")
	}
	return attribute.String("result", "ok")
}
