//go:build failpoints

package runs_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/clusters/states"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/clusterview"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// children is how many actions the lost cluster has in addition to their parent: several batches.
const children = 6

// TestACrashWhileAClusterIsLost: a process is killed between two batches of the attempts that it takes back from a lost cluster, and the
// next holder of the lease continues. Each attempt is declared lost once.
func TestACrashWhileAClusterIsLost(t *testing.T) {
	for turn := 1; turn <= 3; turn++ {
		t.Run(fmt.Sprint("after batch ", turn), func(t *testing.T) {
			db := pgtest.New(t, store.Migrations())
			t.Run("before", func(t *testing.T) {
				c := writeFixtureWith(t, db, nil, func(deps *runs.Deps) {
					reader := states.NewReader(&twoClusters{state: map[string]states.State{"east": {State: states.Ready}, "west": {State: states.Cordoned}}}, time.Now)
					deps.Clusters = clusterview.Placeable{States: reader, Clock: clock.System{}}
				})
				c.create(namedRun("r"))
				for i := range children {
					c.child("r", "a0", fmt.Sprint("c", i))
				}
				require.Eventually(t, func() bool {
					return countOf(t, db, `SELECT count(*) FROM actions WHERE cluster = 'east' AND admitted_at IS NOT NULL`) == children+1
				},
					time.Minute, 20*time.Millisecond)
			})
			dies(t, db, "TestTheProcessThatDiesOfALoss", fmt.Sprint("reclaim.after-batch ", turn), func() {
				require.Equal(t, 2*turn, countOf(t, db, `SELECT count(*) FROM actions WHERE attempt = 2`), "batches are whole")
			})
			require.Equal(t, children+1, countOf(t, db, `SELECT count(*) FROM actions WHERE attempt = 2 AND cluster = 'west'`))
			require.Equal(t, children+1, countOf(t, db, `SELECT count(*) FROM action_events WHERE phase = 6`), "each attempt is lost once")
			require.Zero(t, countOf(t, db, `SELECT count(*) FROM action_events WHERE attempt > 2`))
		})
	}
}

// TestTheProcessThatDiesOfALoss is what the test above starts: it ends when nothing is left on the lost cluster.
func TestTheProcessThatDiesOfALoss(t *testing.T) {
	db := dying(t)
	clusters := &twoClusters{state: map[string]states.State{
		"east": {State: states.Ready, SeenAt: time.Now().Add(-time.Hour)}, "west": {State: states.Ready},
	}}
	writeFixtureWith(t, db, func(config *runs.Config) {
		config.Clusters.Poll, config.Clusters.Settle, config.Clusters.Batch = 100*time.Millisecond, 0, 2
	}, func(deps *runs.Deps) {
		deps.Clusters = clusterview.Placeable{States: states.NewReader(clusters, time.Now), Clock: clock.System{}}
		deps.Lost = runs.Lost{Clusters: clusters, MaxSystemFailures: 3}
	})
	require.Eventually(t, func() bool {
		return countOf(t, db, `SELECT count(*) FROM actions WHERE cluster = 'west'`) == children+1
	},
		time.Minute, 20*time.Millisecond)
}
