// Package drift counts and logs the repairs of drift between the database, TaskActions and pods. The owner of TaskActions and
// the reconciler find drift of different kinds; both use its one metric and its Journal.
package drift

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// Metric is the name of the counter. Its attribute kind says what was repaired.
const Metric = "flyte.drift.repaired"

// Repairs counts repairs by kind.
type Repairs struct{ counter metric.Int64Counter }

// NewRepairs creates the counter; with a nil provider nothing is counted.
func NewRepairs(provider metric.MeterProvider) (*Repairs, error) {
	if provider == nil {
		provider = noop.NewMeterProvider()
	}
	counter, err := provider.Meter("github.com/flyte-binary/flyte-binary/internal/kube/drift").
		Int64Counter(Metric, metric.WithDescription("repairs of drift between the database, TaskActions and pods"))
	if err != nil {
		return nil, fmt.Errorf("make metric %s: %w", Metric, err)
	}
	return &Repairs{counter: counter}, nil
}

// Count counts one repair.
func (r *Repairs) Count(ctx context.Context, kind string) {
	r.counter.Add(ctx, 1, metric.WithAttributes(attribute.String("kind", kind)))
}
