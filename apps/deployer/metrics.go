package deployer

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// meters are the metrics of the deployer. A process that does not lead counts nothing and has no gauges.
type meters struct {
	syncs   metric.Int64Counter
	reports metric.Int64Counter
	logs    metric.Int64Counter
	clock   clock.Clock
	term    atomic.Pointer[session] // nil while this process does not lead
}

func newMeters(provider metric.MeterProvider, clk clock.Clock) (*meters, error) {
	if provider == nil {
		provider = noop.NewMeterProvider()
	}
	meter := provider.Meter("github.com/flyte-binary/flyte-binary/apps/deployer")
	m := &meters{clock: clk}
	for name, counter := range map[string]struct {
		into  *metric.Int64Counter
		about string
	}{
		"flyte.deployer.syncs":   {&m.syncs, "comparisons of an app with its objects, by result: ok, waiting or error"},
		"flyte.deployer.reports": {&m.reports, "reports to the apps service, by result: ok or error"},
		"flyte.deployer.logs":    {&m.logs, "logs of ended replicas, by result: stored, or lost"},
	} {
		var err error
		if *counter.into, err = meter.Int64Counter(name, metric.WithDescription(counter.about)); err != nil {
			return nil, fmt.Errorf("make metric: %w", err)
		}
	}
	replicas, err := meter.Int64ObservableGauge("flyte.deployer.replicas", metric.WithDescription("replicas of apps, by state: ready, starting or draining"))
	if err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	unsent, err := meter.Int64ObservableGauge("flyte.deployer.reports.pending", metric.WithDescription("apps whose state is not reported yet"))
	if err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	silence, err := meter.Float64ObservableGauge("flyte.deployer.stream.silence", metric.WithUnit("s"),
		metric.WithDescription("since the last message of the stream of apps; its heartbeats are messages, too"))
	if err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		if term := m.term.Load(); term != nil {
			term.observe(o, replicas, unsent, silence)
		}
		return nil
	}, replicas, unsent, silence)
	if err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	return m, nil
}

// observe reads the gauges of a term.
func (s *session) observe(o metric.Observer, replicas, unsent metric.Int64Observable, silence metric.Float64Observable) {
	counts, pending := s.reports.count()
	for _, state := range []string{stateReady, stateStarting, stateDraining} {
		o.ObserveInt64(replicas, counts[state], metric.WithAttributes(attribute.String("state", state)))
	}
	o.ObserveInt64(unsent, int64(pending))
	o.ObserveFloat64(silence, max(0, s.clock.Now().Sub(time.Unix(0, s.heard.Load())).Seconds()))
}

// The states of replicas in metrics.
const (
	stateReady    = "ready"
	stateStarting = "starting"
	stateDraining = "draining"
)

// The results of comparisons.
const (
	resultOK      = "ok"
	resultWaiting = "waiting"
	resultError   = "error"
)

func count(ctx context.Context, counter metric.Int64Counter, result string) {
	counter.Add(context.WithoutCancel(ctx), 1, metric.WithAttributes(attribute.String("result", result)))
}
