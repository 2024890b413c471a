package apps_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/apps"
	"github.com/flyte-binary/flyte-binary/clusters/states"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
)

// clusters are what the registry knows, by the clock of the test.
type clusters struct {
	now func() time.Time

	mu    sync.Mutex
	state map[string]states.State // GUARDED_BY(mu)
}

// States implements states.Source.
func (c *clusters) States(context.Context, time.Time) ([]states.State, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []states.State
	for _, name := range slices.Sorted(maps.Keys(c.state)) {
		state := c.state[name]
		if state.Name, state.Weight = name, 1; state.SeenAt.IsZero() {
			state.SeenAt = c.now()
		}
		all = append(all, state)
	}
	return all, nil
}

// set changes the state of a cluster; the caller makes a pass at least a second later.
func (c *clusters) set(name, state string, pools ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state[name] = states.State{State: state, Pools: pools}
}

func (c *clusters) away(name string, since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state[name] = states.State{State: states.Ready, SeenAt: since}
}

// onTwo is a fixture of which east gets new apps first.
func onTwo(t *testing.T, change func(*apps.Config)) *fixture {
	t.Helper()
	f := newFixtureOn(t, &clusters{state: map[string]states.State{"east": {State: states.Ready}, "west": {State: states.Ready}}}, change)
	f.pass(time.Minute) // it has settled
	return f
}

// inPool is an app of a pool of clusters.
func inPool(name, pool string) *app.App {
	made := command(name)
	made.Spec.ClusterPool = pool
	return made
}

// targets are where requests for an app go, by their cluster.
func (f *fixture) targets(name string) (found []string) {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	defer cancel()
	stream, err := f.routes.WatchRoutes(ctx, &enginev1.WatchRoutesRequest{Gateway: "test"})
	require.NoError(f.t, err)
	defer stream.Close() //nolint:errcheck // nothing is written
	for stream.Receive() && stream.Msg().GetSentinel() == nil {
		if route := stream.Msg().GetRoute(); route.GetId().GetName() == name {
			for _, target := range route.GetTargets() {
				found = append(found, target.GetCluster()+" "+target.GetReplica())
			}
		}
	}
	return found
}

// TestNewAppsGoToClustersThatTakeThem: one that is cordoned gets none, and where none takes an app, it waits until one does.
func TestNewAppsGoToClustersThatTakeThem(t *testing.T) {
	f := onTwo(t, nil)
	require.Equal(t, "east", f.create(command("first")).GetStatus().GetAssignedCluster())
	f.states.set("east", states.Cordoned)
	f.pass(time.Second)
	require.Equal(t, "west", f.create(command("second")).GetStatus().GetAssignedCluster())
	require.Equal(t, "east", f.get("first").GetStatus().GetAssignedCluster(), "what runs in a cordoned cluster stays")
	again := command("first", "A", "1")
	require.Equal(t, "east", f.update(again).GetStatus().GetAssignedCluster(), "and so does its next revision")

	f.states.set("west", states.Cordoned)
	f.pass(time.Second)
	require.Empty(t, f.create(command("third")).GetStatus().GetAssignedCluster())
	require.Contains(t, f.message("third"), "it waits for a cluster; no cluster takes it; cluster east is cordoned; cluster west is cordoned")
	f.states.set("west", states.Ready)
	f.pass(time.Second)
	require.Equal(t, "west", f.get("third").GetStatus().GetAssignedCluster())
	f.deployer("west", false).eventually("third", "1:1 →0")

	f.states.set("west", states.Ready, "gpu")
	f.states.set("east", states.Ready)
	f.pass(time.Second)
	require.Equal(t, "west", f.create(inPool("fourth", "gpu")).GetStatus().GetAssignedCluster())
	_, err := f.api.Create(t.Context(), &app.CreateRequest{App: inPool("fifth", "tpu")})
	refused(t, err, connect.CodeInvalidArgument, "there is no pool tpu of clusters")
}

// TestAnAppOfADrainedClusterServesThereUntilAnotherOneIsReady.
func TestAnAppOfADrainedClusterServesThereUntilAnotherOneIsReady(t *testing.T) {
	f := onTwo(t, nil)
	east, west := f.deployer("east", false), f.deployer("west", false)
	f.create(command("web"))
	east.eventually("web", "1:1 →0")
	east.report("web", replicas(1, 1, true))
	require.Equal(t, []string{"east pod-1-0"}, f.targets("web"))

	f.states.set("east", states.Draining)
	f.pass(time.Second)
	west.eventually("web", "1:1 →1")
	east.eventually("web", "1:1 →1")
	require.Equal(t, []string{"east pod-1-0"}, f.targets("web"))
	require.Equal(t, "ACTIVE/RUNNING", f.status("web"))
	west.report("web", replicas(1, 1, false))
	f.pass(time.Second)
	east.eventually("web", "1:1 →1")
	west.report("web", replicas(1, 1, true))
	f.pass(time.Second)
	east.eventually("web", "nothing")
	require.Equal(t, []string{"west pod-1-0"}, f.targets("web"))
	require.Equal(t, "west", f.get("web").GetStatus().GetAssignedCluster())
	require.NotEmpty(t, east.send(&enginev1.ObservedApp{Uid: west.of("web").GetUid(), Revisions: []*enginev1.ObservedRevision{replicas(1, 1, true)}}),
		"what east still says of it is not heard")
	require.Equal(t, []string{"west pod-1-0"}, f.targets("web"))
}

// TestAnAppOfALostClusterStartsElsewhere: not while the cluster is only away, and what it has left ends when it comes back.
func TestAnAppOfALostClusterStartsElsewhere(t *testing.T) {
	f := onTwo(t, nil)
	east := f.deployer("east", false)
	awake := command("web")
	awake.Spec.Autoscaling.Replicas.Min = 1
	f.create(awake)
	named := command("named")
	named.Spec.Cluster, named.Spec.ClusterPool = "east", ""
	f.create(named)
	east.eventually("web", "1:1 →0")
	uid := east.of("web").GetUid()
	east.report("web", replicas(1, 1, true))
	east.stop()
	f.states.away("east", f.clock.Now())
	f.pass(time.Minute)
	require.Equal(t, []string{"east pod-1-0"}, f.targets("web"), "its replicas may serve although no one hears of the cluster")
	f.pass(10 * time.Minute)
	west := f.deployer("west", false)
	west.eventually("web", "1:1 →1")
	require.Empty(t, f.targets("web"))
	west.report("web", replicas(1, 1, true))
	require.Equal(t, []string{"west pod-1-0"}, f.targets("web"))
	require.Equal(t, "east", f.get("named").GetStatus().GetAssignedCluster(), "it waits for the cluster that it names")

	f.states.set("east", states.Ready)
	back := f.deployer("east", false)
	require.Equal(t, "nothing", back.wants("web"))
	require.Equal(t, []string{uid}, back.send(&enginev1.ObservedApp{Uid: uid, Revisions: []*enginev1.ObservedRevision{replicas(1, 1, true)}}))
	f.pass(time.Second)
	require.Equal(t, []string{"west pod-1-0"}, f.targets("web"))
}

// TestAnAppInSeveralClusters has its replicas in each, loses one of them, and gets it back.
func TestAnAppInSeveralClusters(t *testing.T) {
	f := onTwo(t, func(c *apps.Config) { c.Spread = []apps.Spread{{Apps: []string{"web"}, Clusters: 2}} })
	east, west := f.deployer("east", false), f.deployer("west", false)
	f.create(command("web"))
	east.eventually("web", "1:1 →0")
	west.eventually("web", "1:1 →0")
	west.report("web", replicas(1, 1, true))
	east.report("web", replicas(1, 1, false))
	require.Equal(t, "ACTIVE/RUNNING", f.status("web"), "one cluster is enough")
	east.eventually("web", "1:1 →1")
	east.report("web", replicas(1, 1, true))
	require.ElementsMatch(t, []string{"east pod-1-0", "west pod-1-0"}, f.targets("web"))
	require.EqualValues(t, 2, f.get("web").GetStatus().GetCurrentReplicas())

	f.states.away("east", f.clock.Now().Add(-time.Hour))
	f.pass(time.Second)
	require.Equal(t, []string{"west pod-1-0"}, f.targets("web"))
	east.eventually("web", "nothing")
	require.Equal(t, "ACTIVE/RUNNING", f.status("web"))
	f.states.set("east", states.Ready)
	f.pass(20 * time.Second)
	east.eventually("web", "1:1 →1")
	east.report("web", replicas(1, 1, true))
	require.ElementsMatch(t, []string{"east pod-1-0", "west pod-1-0"}, f.targets("web"))

	stopped := f.get("web")
	stopped.Spec.DesiredState = app.Spec_DESIRED_STATE_STOPPED
	f.update(stopped)
	east.eventually("web", "→0")
	west.eventually("web", "→0")
	west.report("web")
	require.NotEqual(t, "STOPPED", f.status("web"), "east still has a replica")
	east.report("web")
	require.Equal(t, "STOPPED", f.status("web"))
}
