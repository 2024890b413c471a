// Package drifttest reads the counter of repairs in tests.
package drifttest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/flyte-binary/flyte-binary/internal/drift"
)

// Counts returns how often each kind was repaired.
func Counts(t testing.TB, reader *metric.ManualReader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(context.Background(), &all))
	counts := map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if sum, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == drift.Metric {
				for _, point := range sum.DataPoints {
					kind, _ := point.Attributes.Value("kind")
					counts[kind.AsString()] += point.Value
				}
			}
		}
	}
	return counts
}
