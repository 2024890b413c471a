// Package drifttest reads the counter of repairs in tests.
package drifttest

import (
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/flyte-binary/flyte-binary/internal/kube/drift"
	"github.com/flyte-binary/flyte-binary/internal/obs/metrictest"
)

// Counts returns how often each kind was repaired.
func Counts(t testing.TB, reader *metric.ManualReader) map[string]int64 {
	t.Helper()
	counts := map[string]int64{}
	for name, count := range metrictest.Read(t, reader) {
		if kind, found := strings.CutPrefix(name, drift.Metric+" kind="); found {
			counts[kind] = int64(count)
		}
	}
	return counts
}
