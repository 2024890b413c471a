package rollups_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/runs/store/rollups"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// listens receives the ends, and counts none of them.
type listens struct {
	rollups.Sums
	ends int
}

func (l *listens) Count(_ context.Context, ended []rollups.Ended) (*rollups.Counts, error) {
	l.ends += len(ended)
	return &rollups.Counts{}, nil
}

// TestCountingEndsReadsOnlyThem: this happens all the time, and there may be millions of other actions.
func TestCountingEndsReadsOnlyThem(t *testing.T) {
	pool, config := seeded(t, 20)
	_, err := pool.Exec(t.Context(), `INSERT INTO uncounted_ends (action_id) SELECT id FROM actions WHERE ended_at IS NOT NULL ORDER BY id LIMIT 500`)
	require.NoError(t, err)
	counted := storetest.Counted(t, pool)
	pool.Reset()
	storetest.AwaitConnections(t, pool, "pid <> pg_backend_pid()")
	before, sums := storetest.TuplesRead(t, pool), &listens{}
	until := config.Start.Add(config.Span + time.Hour)
	for range 5 {
		taken, err := rollups.New(counted).Count(t.Context(), 100, until, rollups.Day(until), rollups.Prices{}, sums)
		require.NoError(t, err)
		require.Equal(t, 100, taken)
	}
	storetest.CloseAndCount(t, counted, pool)
	require.Equal(t, 500, sums.ends)
	require.Less(t, storetest.TuplesRead(t, pool)-before, int64(5*500), "the statements read other actions than those that ended")
}
