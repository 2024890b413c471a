// Package metrictest reads metrics in tests.
package metrictest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// Read returns all metrics of a reader by name and labels, such as "flyte.apps.count cluster=a status=active": the value of a
// counter or gauge, and the number of samples of a histogram.
func Read(t testing.TB, reader *metric.ManualReader) map[string]float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(context.Background(), &all))
	found := map[string]float64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				add(found, m.Name, data.DataPoints)
			case metricdata.Sum[float64]:
				add(found, m.Name, data.DataPoints)
			case metricdata.Gauge[int64]:
				add(found, m.Name, data.DataPoints)
			case metricdata.Gauge[float64]:
				add(found, m.Name, data.DataPoints)
			case metricdata.Histogram[float64]:
				for _, point := range data.DataPoints {
					found[m.Name+labels(point.Attributes)] = float64(point.Count)
				}
			}
		}
	}
	return found
}

func add[N int64 | float64](found map[string]float64, name string, points []metricdata.DataPoint[N]) {
	for _, point := range points {
		found[name+labels(point.Attributes)] = float64(point.Value)
	}
}

func labels(set attribute.Set) (text string) {
	for _, label := range set.ToSlice() {
		text += " " + string(label.Key) + "=" + label.Value.String()
	}
	return text
}
