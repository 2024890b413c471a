package measure

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// export makes the metrics of the meter.
func (m *Meter) export(provider metric.MeterProvider) error {
	if provider == nil {
		provider = noop.NewMeterProvider()
	}
	meter := provider.Meter("github.com/flyte-binary/flyte-binary/executor/measure")
	var err error
	if m.samples, err = meter.Int64Counter("flyte.usage.samples", metric.WithDescription("measurements of what attempts use")); err != nil {
		return fmt.Errorf("make metric: %w", err)
	}
	nodes, err := meter.Int64ObservableGauge("flyte.usage.nodes", metric.WithDescription(
		"nodes on which attempts run, by whether they said at the last try what their pods use: answering or silent"))
	if err != nil {
		return fmt.Errorf("make metric: %w", err)
	}
	answering, silent := attribute.String("state", "answering"), attribute.String("state", "silent")
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		o.ObserveInt64(nodes, m.answering.Load(), metric.WithAttributes(answering))
		o.ObserveInt64(nodes, m.silent.Load(), metric.WithAttributes(silent))
		return nil
	}, nodes)
	if err != nil {
		return fmt.Errorf("make metric: %w", err)
	}
	return nil
}
