package runs_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	api "go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/flyte-binary/flyte-binary/clusters/states"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/clusterview"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// twoClusters are the clusters east and west, of which operators or the network may take one away.
type twoClusters struct {
	mu    sync.Mutex
	state map[string]states.State // GUARDED_BY(mu)
	looks atomic.Int64            // of the loop that takes attempts back
}

// All implements reclaim.Clusters.
func (c *twoClusters) All(ctx context.Context) ([]states.State, error) {
	c.looks.Add(1)
	return c.States(ctx, time.Now())
}

// seen waits until the loop has seen how the clusters are.
func (c *twoClusters) seen(t *testing.T) {
	t.Helper()
	before := c.looks.Load()
	require.Eventually(t, func() bool { return c.looks.Load() >= before+3 }, time.Minute, 10*time.Millisecond)
}

// States implements states.Source.
func (c *twoClusters) States(_ context.Context, now time.Time) ([]states.State, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []states.State
	for _, name := range []string{"east", "west"} {
		state := c.state[name]
		state.Name, state.Weight = name, 1
		if state.SeenAt.IsZero() {
			state.SeenAt = now
		}
		all = append(all, state)
	}
	return all, nil
}

func (c *twoClusters) set(name string, state states.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state[name] = state
}

// onTwoClusters is a service whose work east runs, as west takes nothing yet.
func onTwoClusters(t *testing.T) (*writeFixture, *twoClusters) {
	t.Helper()
	return onTwoClustersMeasured(t, nil)
}

func onTwoClustersMeasured(t *testing.T, provider api.MeterProvider) (*writeFixture, *twoClusters) {
	t.Helper()
	clusters := &twoClusters{state: map[string]states.State{"east": {State: states.Ready}, "west": {State: states.Cordoned}}}
	reader := states.NewReader(clusters, time.Now)
	c := writeFixtureWith(t, pgtest.New(t, store.Migrations()), func(config *runs.Config) {
		config.Clusters.Poll, config.Clusters.Settle = 100*time.Millisecond, 0
	}, func(deps *runs.Deps) {
		deps.Meter = provider
		deps.Clusters, deps.Lost = clusterview.Placeable{States: reader, Clock: clock.System{}}, runs.Lost{Clusters: clusters, MaxSystemFailures: 3}
	})
	return c, clusters
}

// event is the next message other than a heartbeat.
func event(of *assignments) string {
	for {
		if next := of.next(); next != "sentinel" {
			return next
		}
	}
}

// attemptsOf are the phases of the attempts of an action, with their errors.
func attemptsOf(details *workflow.ActionDetails) (found []string) {
	for _, one := range details.GetAttempts() {
		found = append(found, one.GetPhase().String()+" "+one.GetErrorInfo().GetCode())
	}
	return found
}

// TestTheWorkOfALostClusterRunsElsewhereOnce: what had not begun moves as soon as the cluster is away, what ran waits until it is lost, and
// the cluster is not heard when it comes back.
func TestTheWorkOfALostClusterRunsElsewhereOnce(t *testing.T) {
	reader := metric.NewManualReader()
	c, clusters := onTwoClustersMeasured(t, metric.NewMeterProvider(metric.WithReader(reader)))
	c.create(namedRun("r"))
	c.child("r", "a0", "waits")
	east := c.watchRunner(&enginev1.WatchAssignmentsRequest{Cluster: "east"})
	require.Equal(t, "live r/a0 r/waits", east.next())
	require.Equal(t, "sentinel", east.next())
	west := c.watchRunner(&enginev1.WatchAssignmentsRequest{Cluster: "west"})
	require.Equal(t, "sentinel", west.next())
	from := func(cluster, action string, attempt uint32, phase common.ActionPhase) *enginev1.Transition {
		said := transition("r", action, attempt, phase)
		said.Event.Cluster = cluster
		return said
	}
	applied, refused := enginev1.TransitionOutcome_TRANSITION_OUTCOME_APPLIED, enginev1.TransitionOutcome_TRANSITION_OUTCOME_REFUSED
	require.Equal(t, []enginev1.TransitionOutcome{applied}, c.report(from("east", "a0", 1, running)))

	clusters.set("west", states.State{State: states.Ready})
	clusters.set("east", states.State{State: states.Ready, SeenAt: time.Now().Add(-time.Minute)})
	require.Equal(t, "release r/waits", event(east))
	require.Equal(t, "assign r/waits", event(west))
	require.Equal(t, []enginev1.TransitionOutcome{refused}, c.report(from("east", "waits", 1, succeeded)))
	require.Equal(t, []enginev1.TransitionOutcome{applied}, c.report(from("west", "waits", 2, running)))
	require.Len(t, c.details("r", "a0").GetAttempts(), 1, "it is away, not lost")

	clusters.set("east", states.State{State: states.Ready})
	clusters.seen(t)
	clusters.set("east", states.State{State: states.Ready, SeenAt: time.Now().Add(-time.Hour)})
	require.Equal(t, "release r/a0", event(east))
	require.Equal(t, "assign r/a0", event(west))
	clusters.set("east", states.State{State: states.Ready})
	for _, late := range []*enginev1.Transition{from("east", "a0", 1, running), from("east", "a0", 1, succeeded), from("east", "a0", 1, failed)} {
		require.Equal(t, []enginev1.TransitionOutcome{refused}, c.report(late))
	}
	again := c.watchRunner(&enginev1.WatchAssignmentsRequest{Cluster: "east"})
	require.Equal(t, "sentinel", again.next(), "nothing is left for the cluster that came back, so it removes what it has")
	require.Equal(t, []enginev1.TransitionOutcome{applied}, c.report(from("west", "a0", 2, succeeded)))
	require.Equal(t, []string{"ACTION_PHASE_FAILED ClusterLost", "ACTION_PHASE_SUCCEEDED "}, attemptsOf(c.details("r", "a0")))
	require.Equal(t, map[string]int64{
		"flyte.clusters.reclaimed cluster=east,reason=ClusterLost,state=waiting": 1, "flyte.clusters.reclaimed cluster=east,reason=ClusterLost,state=begun": 1,
		"flyte.clusters.reports.refused cluster=east": 4,
	}, countedOf(t, reader, "flyte.clusters."))
}

// countedOf are the counters with a prefix, by name and labels.
func countedOf(t *testing.T, reader metric.Reader, prefix string) map[string]int64 {
	t.Helper()
	var read metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &read))
	found := map[string]int64{}
	for _, scope := range read.ScopeMetrics {
		for _, one := range scope.Metrics {
			sum, counts := one.Data.(metricdata.Sum[int64])
			if !counts || !strings.HasPrefix(one.Name, prefix) {
				continue
			}
			for _, point := range sum.DataPoints {
				found[one.Name+" "+point.Attributes.Encoded(attribute.DefaultEncoder())] = point.Value
			}
		}
	}
	return found
}

// TestTheWorkOfADrainedClusterMovesAtItsDeadline and not before.
func TestTheWorkOfADrainedClusterMovesAtItsDeadline(t *testing.T) {
	c, clusters := onTwoClusters(t)
	c.create(namedRun("r"))
	west := c.watchRunner(&enginev1.WatchAssignmentsRequest{Cluster: "west"})
	require.Equal(t, "sentinel", west.next())
	clusters.set("west", states.State{State: states.Ready})
	clusters.set("east", states.State{State: states.Draining, Until: time.Now().Add(time.Second)})
	require.Equal(t, "assign r/a0", event(west))
	require.Equal(t, "ACTION_PHASE_FAILED ClusterDrained", attemptsOf(c.details("r", "a0"))[0])
}
