package apps_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/flyte-binary/flyte-binary/apps"
)

// figures are the metrics of the service by name and labels; of a histogram, the number of its samples.
func (f *fixture) figures() map[string]int64 {
	f.t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(f.t, f.reader.Collect(f.t.Context(), &all))
	found := map[string]int64{}
	add := func(name string, point metricdata.DataPoint[int64]) {
		labels := ""
		for _, label := range point.Attributes.ToSlice() {
			labels += fmt.Sprintf(" %s=%s", label.Key, label.Value.AsString())
		}
		found[name+labels] = point.Value
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, point := range data.DataPoints {
					add(m.Name, point)
				}
			case metricdata.Gauge[int64]:
				for _, point := range data.DataPoints {
					add(m.Name, point)
				}
			case metricdata.Histogram[float64]:
				for _, point := range data.DataPoints {
					found[m.Name] = int64(point.Count) //nolint:gosec // a count
				}
			}
		}
	}
	return found
}

func TestMetrics(t *testing.T) {
	f := newFixture(t, func(c *apps.Config) { c.ScaledownPeriod, c.SilentAfter = time.Minute, 24*time.Hour })
	d := f.deployer("", false)
	f.create(command("web"))
	f.create(command("new"))
	d.eventually("web", "1:1 →0")
	d.report("web", replicas(1, 1, true))
	f.update(command("web", "A", "1"))
	d.eventually("web", "1:1 2:1 →1")
	d.report("web", replicas(1, 1, true), failing(2, "no such image"))

	figures := f.figures()
	require.EqualValues(t, 1, figures["flyte.apps.rollouts reason= result=serving"])
	require.EqualValues(t, 1, figures["flyte.apps.rollouts reason=image_pull_error result=failed"])
	require.EqualValues(t, 1, figures["flyte.apps.rollout.duration"])
	require.EqualValues(t, 1, figures["flyte.apps.count cluster=default status=pending"])
	require.Contains(t, figures, "flyte.apps.log.streams")

	d.report("web", replicas(1, 1, true))
	f.pass(time.Second)
	f.pass(2 * time.Minute)
	d.eventually("web", "1:0 →1")
	require.EqualValues(t, 1, f.figures()["flyte.apps.scalings direction=to_zero"])

	f.deleteApp("new")
	require.NoError(t, f.service.DeleteLogs(t.Context()))
	require.EqualValues(t, 1, f.figures()["flyte.apps.log.deletions result=ok"])
}
