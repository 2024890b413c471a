package bridge

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// metrics counts what the bridge does. What it mended is what a perfect stream would have made needless.
type metrics struct {
	created, deleted, mended, failures, rejected metric.Int64Counter
	live                                         metric.Int64Gauge
}

func newMetrics(provider metric.MeterProvider) (*metrics, error) {
	if provider == nil {
		provider = noop.NewMeterProvider()
	}
	meter := provider.Meter("github.com/flyte-binary/flyte-binary/actions/bridge")
	m := &metrics{}
	for _, c := range []struct {
		counter    *metric.Int64Counter
		name, what string
	}{
		{&m.created, "flyte.bridge.created", "TaskActions created"},
		{&m.deleted, "flyte.bridge.deleted", "TaskActions deleted"},
		{&m.mended, "flyte.bridge.mended", "TaskActions found missing or superfluous when everything was compared"},
		{&m.failures, "flyte.bridge.failures", "calls that failed and are repeated"},
		{&m.rejected, "flyte.bridge.rejected", "actions failed because the API server refuses their TaskAction"},
	} {
		var err error
		if *c.counter, err = meter.Int64Counter(c.name, metric.WithDescription(c.what)); err != nil {
			return nil, fmt.Errorf("make metric %s: %w", c.name, err)
		}
	}
	var err error
	if m.live, err = meter.Int64Gauge("flyte.bridge.live", metric.WithDescription("admitted, unfinished actions")); err != nil {
		return nil, fmt.Errorf("make metric flyte.bridge.live: %w", err)
	}
	return m, nil
}

func count(ctx context.Context, counter metric.Int64Counter, kind string) {
	counter.Add(ctx, 1, metric.WithAttributes(attribute.String("kind", kind)))
}
