package outgoing

import (
	"context"
	"fmt"

	"connectrpc.com/connect"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// meters are the metrics of a link.
type meters struct {
	up       metric.Int64Gauge
	failures metric.Int64Counter
}

func newMeters(provider metric.MeterProvider) (*meters, error) {
	if provider == nil {
		provider = noop.NewMeterProvider()
	}
	meter := provider.Meter("github.com/flyte-binary/flyte-binary/clusters/outgoing")
	m := &meters{}
	var err error
	if m.up, err = meter.Int64Gauge("flyte.link.up", metric.WithDescription("1 while this controller is connected to the API, else 0")); err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	if m.failures, err = meter.Int64Counter("flyte.link.failures", metric.WithDescription("links to the API that failed, by code")); err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	m.linked(false)
	return m, nil
}

func (m *meters) linked(is bool) {
	value := int64(0)
	if is {
		value = 1
	}
	m.up.Record(context.Background(), value)
}

func (m *meters) failed(err error) {
	m.failures.Add(context.Background(), 1, metric.WithAttributes(attribute.String("code", connect.CodeOf(err).String())))
}
