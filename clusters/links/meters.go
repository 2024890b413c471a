package links

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// scrapeTimeout bounds the query of one scrape: a database that does not answer must not hide the metrics of other parts.
const scrapeTimeout = time.Second

// Meters are the metrics of links.
type Meters struct{ refusals, connections metric.Int64Counter }

// NewMeters makes the metrics.
func NewMeters(provider metric.MeterProvider) (*Meters, error) {
	counter, err := meter(provider).Int64Counter("flyte.clusters.refused", metric.WithDescription("links of controllers that were refused, by reason"))
	if err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	connections, err := meter(provider).Int64Counter("flyte.clusters.connections",
		metric.WithDescription("links that controllers opened, by cluster; each controller opens one about every ten minutes, and after each break"))
	if err != nil {
		return nil, fmt.Errorf("make metric: %w", err)
	}
	return &Meters{refusals: counter, connections: connections}, nil
}

func (m *Meters) connected(ctx context.Context, cluster string) {
	m.connections.Add(ctx, 1, metric.WithAttributes(attribute.String("cluster", cluster)))
}

func (m *Meters) refused(ctx context.Context, reason string) {
	m.refusals.Add(ctx, 1, metric.WithAttributes(attribute.String("reason", reason)))
}

func meter(provider metric.MeterProvider) metric.Meter {
	if provider == nil {
		provider = noop.NewMeterProvider()
	}
	return provider.Meter("github.com/flyte-binary/flyte-binary/clusters/links")
}
