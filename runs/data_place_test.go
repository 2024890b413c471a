package runs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/clusters/states"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/clusterview"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/placement"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// withStores is a service with the clusters east and west, of which west alone reaches s3://west and ROOT/_west, and is cordoned.
func withStores(t *testing.T) (*writeFixture, *twoClusters) {
	t.Helper()
	clusters := &twoClusters{state: map[string]states.State{"east": {State: states.Ready}, "west": {State: states.Cordoned}}}
	reader := states.NewReader(clusters, time.Now)
	var of *runs.Config
	c := writeFixtureWith(t, pgtest.New(t, store.Migrations()), func(config *runs.Config) {
		config.Clusters.Poll, config.Clusters.Settle = 100*time.Millisecond, 0
		config.Queues = []queues.Queue{{Name: "western", Cluster: "west"}, {Name: "eastern", Cluster: "east"}}
		of = config
	}, func(deps *runs.Deps) {
		of.Placement.Stores = []placement.Store{
			{Prefix: "s3://west/", Clusters: []string{"west"}}, {Prefix: deps.Blobs.Root() + "/_west", Clusters: []string{"west"}, Base: true},
		}
		deps.Clusters, deps.Lost = clusterview.Placeable{States: reader, Clock: clock.System{}}, runs.Lost{Clusters: clusters, MaxSystemFailures: 3}
	})
	return c, clusters
}

func listOf(literals ...*core.Literal) *core.Literal {
	return &core.Literal{Value: &core.Literal_Collection{Collection: &core.LiteralCollection{Literals: literals}}}
}

// waitsFor waits until an action waits for a cluster, and returns why.
func (c *writeFixture) waitsFor(run, action string) (why string) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		wait := c.explain(run, action).GetWait()
		why = wait.GetMessage()
		return wait.GetCause() == insightv1.WaitCause_WAIT_CAUSE_PLACEMENT
	}, time.Minute, 20*time.Millisecond)
	return why
}

// placedIn waits until a cluster has an action, and returns why it has.
func (c *writeFixture) placedIn(cluster, run, action string) (why string) {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		placed := c.explain(run, action).GetPlacement()
		why = placed.GetReason()
		return placed.GetCluster() == cluster
	}, time.Minute, 20*time.Millisecond)
	return why
}

// TestARunGoesWhereItsDataAre, and waits with the reason while no cluster that reaches them takes work.
func TestARunGoesWhereItsDataAre(t *testing.T) {
	c, clusters := withStores(t)
	with := func(name string, change func(*workflow.CreateRunRequest)) {
		request := namedRun(name)
		request.RunSpec = &task.RunSpec{}
		change(request)
		c.create(request)
	}
	inline := func(r *workflow.CreateRunRequest, values ...*core.Literal) {
		inputs := &task.Inputs{}
		for _, value := range values {
			inputs.Literals = append(inputs.Literals, &task.NamedLiteral{Name: "x", Value: value})
		}
		r.InputWrapper = &workflow.CreateRunRequest_Inputs{Inputs: inputs}
	}
	uploaded := blobpath.Uploads(c.blobs.Root(), "flytesnacks", "development") + "/u/inputs.pb"
	c.put(uploaded, &task.Inputs{Literals: []*task.NamedLiteral{{Name: "x", Value: fileAt("s3://west/d")}}})

	with("anywhere", func(r *workflow.CreateRunRequest) {
		inline(r, fileAt("s3://western/d"), text("s3://west/d"))
		r.RunSpec.Annotations = &task.Annotations{Values: map[string]string{"flyte.org/stores": "s3://west"}}
	})
	require.NotContains(t, c.placedIn("east", "anywhere", "a0"), "data")
	of := map[string]func(*workflow.CreateRunRequest){
		"base": func(r *workflow.CreateRunRequest) { r.RunSpec.RunBaseDir = c.blobs.Root() + "/_west/team" },
		"raw": func(r *workflow.CreateRunRequest) {
			r.RunSpec.RawDataStorage = &task.RawDataStorage{RawDataPrefix: "s3://west/raw"}
		},
		"input": func(r *workflow.CreateRunRequest) { inline(r, text("a"), listOf(fileAt("s3://west/d"))) },
		"default": func(r *workflow.CreateRunRequest) {
			r.GetTaskSpec().DefaultInputs = defaultOf("x", fileAt("s3://west/d"))
		},
		"uploaded": func(r *workflow.CreateRunRequest) {
			r.InputWrapper = &workflow.CreateRunRequest_OffloadedInputData{OffloadedInputData: &common.OffloadedInputData{Uri: uploaded, InputsHash: "h"}}
		},
		"queue": func(r *workflow.CreateRunRequest) { r.RunSpec.Queue = "eastern"; inline(r, fileAt("s3://west/d")) },
	}
	for name, change := range of {
		with(name, change)
		why := c.waitsFor(name, "a0")
		prefix := "s3://west"
		if name == "base" {
			prefix = c.blobs.Root() + "/_west"
		}
		require.Contains(t, why, "east cannot reach "+prefix, name)
		require.Equal(t, name != "queue", strings.Contains(why, "west is cordoned"), why)
	}
	clusters.set("west", states.State{State: states.Ready})
	for name := range of {
		if name != "queue" {
			require.Contains(t, c.placedIn("west", name, "a0"), "its data is in ", name)
		}
	}
	require.Equal(t, "cluster east cannot reach s3://west", c.waitsFor("queue", "a0"))
	clusters.set("west", states.State{State: states.Cordoned})
	probes := 0
	require.Eventually(t, func() bool { // until placement has seen it
		probes++
		c.create(queuedRun(fmt.Sprintf("probe-%d", probes), "western"))
		return c.explain(fmt.Sprintf("probe-%d", probes), "a0").GetWait().GetCause() == insightv1.WaitCause_WAIT_CAUSE_PLACEMENT
	}, time.Minute, 100*time.Millisecond)
	c.child("raw", "a0", "waits")
	require.Contains(t, c.waitsFor("raw", "waits"), "east cannot reach s3://west")
}

func defaultOf(name string, value *core.Literal) []*task.NamedParameter {
	return []*task.NamedParameter{{Name: name, Parameter: &core.Parameter{Var: &core.Variable{Type: &core.LiteralType{}}, Behavior: &core.Parameter_Default{Default: value}}}}
}

// TestARunThatMayGoToOneClusterHasItsDataThere: unless it names a base directory.
func TestARunThatMayGoToOneClusterHasItsDataThere(t *testing.T) {
	c, clusters := withStores(t)
	clusters.set("west", states.State{State: states.Ready})
	root := c.blobs.Root()
	for name, test := range map[string]struct {
		spec *task.RunSpec
		base string
	}{
		"west":  {&task.RunSpec{Queue: "western"}, root + "/_west/"},
		"east":  {&task.RunSpec{Queue: "eastern"}, root + "/flytesnacks/"},
		"free":  {nil, root + "/flytesnacks/"},
		"named": {&task.RunSpec{Queue: "western", RunBaseDir: root + "/_mine"}, root + "/_mine/"},
	} {
		request := namedRun(name)
		request.RunSpec = proto.CloneOf(test.spec)
		c.create(request)
		require.True(t, strings.HasPrefix(c.storage(name, "a0").GetRunOutputBase(), test.base), c.storage(name, "a0").GetRunOutputBase())
	}
	require.Equal(t, "queue western names it", c.placedIn("west", "west", "a0"))
}

// TestWorkWaitsForTheOnlyClusterThatReachesItsData: nothing is taken from a cluster that is away if no other one could run it; what another
// one can run moves.
func TestWorkWaitsForTheOnlyClusterThatReachesItsData(t *testing.T) {
	c, clusters := withStores(t)
	clusters.set("west", states.State{State: states.Ready})
	clusters.set("east", states.State{State: states.Cordoned})
	bound := namedRun("bound")
	bound.RunSpec = &task.RunSpec{RawDataStorage: &task.RawDataStorage{RawDataPrefix: "s3://west/raw"}}
	c.create(bound)
	c.placedIn("west", "bound", "a0")
	c.create(namedRun("free"))
	c.placedIn("west", "free", "a0")
	west := c.watchRunner(&enginev1.WatchAssignmentsRequest{Cluster: "west"})
	require.Equal(t, "live bound/a0 free/a0", west.next())
	clusters.set("east", states.State{State: states.Ready})
	clusters.set("west", states.State{State: states.Ready, SeenAt: time.Now().Add(-time.Hour)})
	require.Equal(t, "release free/a0", event(west))
	c.placedIn("east", "free", "a0")
	clusters.seen(t)
	require.Empty(t, attemptsOf(c.details("bound", "a0"))[1:], "it waits for the cluster")

	clusters.set("west", states.State{State: states.Draining, Until: time.Now().Add(time.Second)})
	require.Equal(t, "release bound/a0", event(west))
	require.Equal(t, "no cluster takes it; cluster east cannot reach s3://west; cluster west is draining", c.waitsFor("bound", "a0"))
	clusters.set("west", states.State{State: states.Ready})
	c.placedIn("west", "bound", "a0")
}
