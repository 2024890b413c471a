package runs_test

import (
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/clusters/states"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/clusterview"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// asking is a run whose task asks for an amount of CPU.
func asking(name, cpu string) *workflow.CreateRunRequest {
	request := namedRun(name)
	request.GetTaskSpec().TaskTemplate.Target = &core.TaskTemplate_Container{Container: &core.Container{Image: "i", Resources: &core.Resources{
		Requests: []*core.Resources_ResourceEntry{{Name: core.Resources_CPU, Value: cpu}, {Name: core.Resources_MEMORY, Value: "1Gi"}},
	}}}
	return request
}

// withRoom is a service with the clusters east and west, of 4 CPUs each.
func withRoom(t *testing.T) *writeFixture {
	t.Helper()
	room := states.Resources{"cpu": 4000, "memory": 64 << 30}
	clusters := &twoClusters{state: map[string]states.State{"east": {State: states.Ready, Capacity: room, Free: room}, "west": {State: states.Cordoned, Capacity: room, Free: room}}}
	reader := states.NewReader(clusters, time.Now)
	return writeFixtureWith(t, pgtest.New(t, store.Migrations()), func(config *runs.Config) {
		config.Placement.Pending = 0
		config.Clusters.Settle = 0
	}, func(deps *runs.Deps) {
		deps.Clusters, deps.Lost = clusterview.Placeable{States: reader, Clock: clock.System{}}, runs.Lost{Clusters: clusters, MaxSystemFailures: 3}
	})
}

func (c *writeFixture) use(cluster string) *insightv1.GetClusterUseResponse {
	c.t.Helper()
	use, err := c.insight.GetClusterUse(c.t.Context(), &insightv1.GetClusterUseRequest{Cluster: cluster})
	require.NoError(c.t, err)
	return use
}

// TestWhoUsesACluster: the projects and runs that ask for most come first.
func TestWhoUsesACluster(t *testing.T) {
	c := withRoom(t)
	c.create(asking("small", "500m"))
	c.create(asking("large", "2"))
	other := asking("theirs", "1")
	other.GetRunId().Domain = "production"
	c.create(other)
	var use *insightv1.GetClusterUseResponse
	require.Eventually(t, func() bool { use = c.use("east"); return use.GetTotalRuns() == 3 }, time.Minute, 20*time.Millisecond)
	var said []string
	for _, one := range use.GetRuns() {
		said = append(said, one.GetRun())
	}
	require.Equal(t, []string{"large", "theirs", "small"}, said)
	require.Equal(t, map[string]int64{"cpu": 2000, "memory": 1 << 30}, use.GetRuns()[0].GetAsked())
	require.EqualValues(t, 2, use.GetTotalProjects())
	first := use.GetProjects()[0]
	require.Equal(t, "development", first.GetDomain())
	require.Equal(t, map[string]int64{"cpu": 2500, "memory": 2 << 30}, first.GetAsked())
	require.EqualValues(t, 2, first.GetActions())
	require.EqualValues(t, 2, first.GetPending())
	require.Empty(t, c.use("west").GetRuns())

	where, err := c.insight.ListRunClusters(t.Context(), &insightv1.ListRunClustersRequest{
		ProjectId: &common.ProjectIdentifier{Name: "flytesnacks", Domain: "development"}, Runs: []string{"large", "theirs", "none"},
	})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"large": "east"}, where.GetClusters(), "those of another domain are left out")
	require.True(t, where.GetSeveral())

	one, err := c.insight.GetClusterUse(t.Context(), &insightv1.GetClusterUseRequest{Cluster: "east", Limit: 1})
	require.NoError(t, err)
	require.Len(t, one.GetRuns(), 1)
	require.Len(t, one.GetProjects(), 1)
	require.EqualValues(t, 3, one.GetTotalRuns())

	reader := worklists.NewPlacementReader(c.pool)
	narrow := authz.WithScope(t.Context(), authz.Scope{Places: []authz.Place{{Project: "flytesnacks", Domain: "production"}}})
	specs, err := reader.SpecsOnCluster(narrow, "east")
	require.NoError(t, err)
	require.Len(t, specs, 1, "of the rest the caller may see nothing")
	found, total, err := reader.RunsOnCluster(narrow, "east", nil, 10)
	require.NoError(t, err)
	require.Equal(t, 1, total)
	require.Equal(t, "theirs", found[0].Run.Name)
	pending, err := reader.PendingOn(narrow, "east", 0, 0, 10)
	require.NoError(t, err)
	require.Len(t, pending, 1)
}

// TestWhatWaitsForACluster: what no cluster has yet comes first, with the resource of which the cluster has too little.
func TestWhatWaitsForACluster(t *testing.T) {
	c := withRoom(t)
	for _, name := range []string{"first", "second", "third"} {
		c.create(asking(name, "3"))
	}
	list := func(token string, limit uint32) *insightv1.ListClusterWaitsResponse {
		t.Helper()
		page, err := c.insight.ListClusterWaits(t.Context(), &insightv1.ListClusterWaitsRequest{Cluster: "east", Limit: limit, Token: token})
		require.NoError(t, err)
		return page
	}
	var all []*insightv1.ClusterWait
	require.Eventually(t, func() bool { all = list("", 0).GetWaits(); return len(all) == 3 }, time.Minute, 20*time.Millisecond)
	var paged []*insightv1.ClusterWait
	pages := 0
	for token := ""; pages == 0 || token != ""; pages++ {
		page := list(token, 1)
		paged = append(paged, page.GetWaits()...)
		token = page.GetToken()
	}
	require.Len(t, paged, 3)
	require.GreaterOrEqual(t, pages, 3)
	there := 0
	for i, one := range all {
		require.Equal(t, one.GetActionId().String(), paged[i].GetActionId().String())
		require.EqualValues(t, 3000, one.GetAsked()["cpu"])
		if one.GetThere() {
			there++
			continue
		}
		require.Zero(t, there, "those that no cluster has come first")
		require.Equal(t, "cpu", one.GetResource())
		require.EqualValues(t, 1000, one.GetFree())
	}
	require.Equal(t, common.ActionPhase_ACTION_PHASE_QUEUED, c.phase("first", "a0"))

	for _, token := range []string{"x", "held/", "held/-1", "there/1", "there/1/2/3", "held/01"} {
		_, err := c.insight.ListClusterWaits(t.Context(), &insightv1.ListClusterWaitsRequest{Cluster: "east", Token: token})
		require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err), token)
	}
}
