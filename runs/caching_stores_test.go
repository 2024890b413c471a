package runs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/clusters/states"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/clusterview"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/placement"
	"github.com/flyte-binary/flyte-binary/runs/queues"
)

// TestOutputsThatTheParentCannotReadAreNoHit: the entry is there, and others use it; the action runs.
func TestOutputsThatTheParentCannotReadAreNoHit(t *testing.T) {
	config := cacheConfig()
	config.Queues = []queues.Queue{{Name: "western", Cluster: "west"}, {Name: "eastern", Cluster: "east"}}
	c := startCacheFixtureWith(t, config, false, func(c *cacheFixture, deps *runs.Deps) {
		c.config.Placement.Stores = []placement.Store{{Prefix: c.blobs.Root() + "/_west", Clusters: []string{"west"}, Base: true}}
		clusters := &twoClusters{state: map[string]states.State{"east": {State: states.Ready}, "west": {State: states.Ready}}}
		deps.Clusters = clusterview.Placeable{States: states.NewReader(clusters, time.Now), Clock: clock.System{}}
	})
	far := "the cached outputs are in " + c.blobs.Root() + "/_west, which cluster east of the parent cannot reach"
	c.run("r1", &task.RunSpec{Queue: "western"})
	c.cacheable("r1", "first", "k")
	require.Equal(t, statusMiss, c.admitted("r1", "first").Status)
	c.finish("r1", "first")

	c.run("r2", &task.RunSpec{Queue: "eastern"})
	c.cacheable("r2", "second", "k")
	s := c.admitted("r2", "second")
	require.Equal(t, statusMiss, s.Status)
	require.Equal(t, far, s.Reason)
	c.cacheable("r2", "serial", "k", serialized)
	require.Equal(t, far, c.admitted("r2", "serial").Reason)

	c.run("r3", &task.RunSpec{Queue: "western"})
	c.cacheable("r3", "third", "k")
	require.Equal(t, c.attemptDir("r1", "first"), c.hit("r3", "third").Output)
}
