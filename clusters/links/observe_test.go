package links_test

import (
	"context"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/flyte-binary/flyte-binary/clusters/links"
	"github.com/flyte-binary/flyte-binary/clusters/states"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// known is a source of states.
type known struct{ all []states.State }

func (k known) States(context.Context, time.Time) ([]states.State, error) { return k.all, nil }

// TestFiguresOfClusters: each cluster has its phase, its capacity in base units, its work and the distance of its version, and no one has
// more series than what is bounded.
func TestFiguresOfClusters(t *testing.T) {
	t.Parallel()
	now := time.Now()
	heard := states.State{State: states.Ready, SeenAt: now, Controllers: 1}
	east, west, lost, away, north := heard, heard, heard, heard, heard
	east.Name, east.Version = "east", "1.5.0"
	east.Capacity, east.Free = states.Resources{"cpu": 4500, "memory": 1 << 30, "nvidia.com/gpu": 8}, states.Resources{"cpu": 500, "memory": 1 << 20}
	west.Name, west.State, west.Version = "west", states.Draining, "1.3.0"
	lost.Name, lost.SeenAt = "lost", now.Add(-time.Hour)
	away.Name, away.SeenAt = "away", now.Add(-time.Minute)
	north.Name, north.Capacity = "north", states.Resources{}
	for r := range 30 {
		north.Capacity[string(rune('a'+r))] = 1
	}
	reader := metric.NewManualReader()
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	meters, err := links.NewMeters(provider)
	require.NoError(t, err)
	all := states.NewReader(known{[]states.State{away, east, lost, {Name: "new", State: states.Ready}, north, west}}, time.Now)
	counts := 0
	served := links.New(links.Deps{States: all, Version: "1.4.2", Clock: clock.System{}, Logger: zerolog.Nop(), Meters: meters})
	require.NoError(t, served.Observe(provider, links.Observed{LostAfter: 10 * time.Minute, Actions: func(context.Context) (map[string]links.Actions, error) {
		counts++
		return map[string]links.Actions{"east": {Waiting: 3, Starting: 2, Running: 1}}, nil
	}}))
	found := figuresOf(t, reader)
	for series, want := range map[string]float64{
		"flyte.clusters.phase cluster=east,phase=ready": 1, "flyte.clusters.phase cluster=west,phase=draining": 1, "flyte.clusters.phase cluster=new,phase=ready": 1,
		"flyte.clusters.phase cluster=lost,phase=lost": 1, "flyte.clusters.phase cluster=away,phase=away": 1,
		"flyte.clusters.capacity cluster=east,resource=cpu": 4.5, "flyte.clusters.free cluster=east,resource=cpu": 0.5,
		"flyte.clusters.capacity cluster=east,resource=memory": 1 << 30, "flyte.clusters.free cluster=east,resource=nvidia.com/gpu": 0,
		"flyte.clusters.version.skew cluster=east": 1, "flyte.clusters.version.skew cluster=west": -1,
		"flyte.clusters.actions cluster=east,state=waiting": 3, "flyte.clusters.actions cluster=east,state=starting": 2,
		"flyte.clusters.actions cluster=east,state=running": 1, "flyte.clusters.actions cluster=west,state=running": 0,
	} {
		got, has := found[series]
		require.True(t, has, series)
		require.InDelta(t, want, got, 1e-9, series)
	}
	require.NotContains(t, found, "flyte.clusters.version.skew cluster=north", "it has no version")
	require.NotContains(t, found, "flyte.clusters.silence cluster=new", "it never connected")
	require.Len(t, seriesOf(found, "flyte.clusters.capacity cluster=north"), 12)
	figuresOf(t, reader)
	require.Equal(t, 1, counts, "work is counted every ten seconds, however often it is asked for")
}

func seriesOf(found map[string]float64, prefix string) (names []string) {
	for name := range found {
		if len(name) > len(prefix) && name[:len(prefix)] == prefix {
			names = append(names, name)
		}
	}
	return names
}

// figuresOf are all gauges, by name and labels.
func figuresOf(t *testing.T, reader metric.Reader) map[string]float64 {
	t.Helper()
	var read metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &read))
	found := map[string]float64{}
	for _, scope := range read.ScopeMetrics {
		for _, one := range scope.Metrics {
			switch data := one.Data.(type) {
			case metricdata.Gauge[int64]:
				for _, point := range data.DataPoints {
					found[one.Name+" "+point.Attributes.Encoded(attribute.DefaultEncoder())] = float64(point.Value)
				}
			case metricdata.Gauge[float64]:
				for _, point := range data.DataPoints {
					found[one.Name+" "+point.Attributes.Encoded(attribute.DefaultEncoder())] = point.Value
				}
			}
		}
	}
	return found
}
