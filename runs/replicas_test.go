package runs_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// TestHolderOfTheTimersDiesWhileATreeIsAborted: one replica is asked to abort a large tree, another sweeps it and loses
// its database in the middle, with the lease in its hands.
func TestHolderOfTheTimersDiesWhileATreeIsAborted(t *testing.T) {
	small := func(config *runs.Config) { config.Writer.MaxSubtree, config.Timers.Lease = 2, 3*time.Second }
	pool := pgtest.New(t, store.Migrations())
	own, err := pgxpool.NewWithConfig(t.Context(), pool.Config())
	require.NoError(t, err)
	t.Cleanup(own.Close)
	writeFixtureOn(t, own, small)
	number := func(query string) (n int) {
		t.Helper()
		require.NoError(t, pool.QueryRow(t.Context(), query).Scan(&n))
		return n
	}
	require.Eventually(t, func() bool { return number(`SELECT count(*) FROM leases WHERE name = 'timers'`) == 1 }, 10*time.Second, time.Millisecond)
	other := writeFixtureOn(t, pool, small)
	other.create(namedRun("r"))
	other.child("r", "a0", "mid")
	for i := range 60 {
		other.child("r", "a0", fmt.Sprint("c", i))
		other.child("r", "mid", fmt.Sprint("m", i))
	}
	unfinished := func() int { return number(`SELECT count(*) FROM actions WHERE ended_at IS NULL`) }
	all := unfinished()
	_, err = other.runs.AbortRun(t.Context(), &workflow.AbortRunRequest{RunId: runID("r")})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return unfinished() < all-1 }, 10*time.Second, time.Millisecond, "the sweep has begun")
	own.Close()
	require.Eventually(t, func() bool { return unfinished() == 0 }, 30*time.Second, 10*time.Millisecond)
}
