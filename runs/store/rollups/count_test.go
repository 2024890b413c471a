package rollups_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/runs/store/rollups"
)

// listens is told the ends, and counts none of them.
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
	one := pool.Config()
	one.MaxConns = 1 // Postgres writes what a connection has read when that connection asks for it
	alone, err := pgxpool.NewWithConfig(t.Context(), one)
	require.NoError(t, err)
	t.Cleanup(alone.Close)
	read := func() (rows int64) {
		_, err := alone.Exec(t.Context(), `SELECT pg_stat_force_next_flush()`)
		require.NoError(t, err)
		require.NoError(t, alone.QueryRow(t.Context(), `
			SELECT seq_tup_read + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = 'actions')
			FROM pg_stat_user_tables WHERE relname = 'actions'`).Scan(&rows))
		return rows
	}
	_, err = alone.Exec(t.Context(), `INSERT INTO uncounted_ends (action_id) SELECT id FROM actions WHERE ended_at IS NOT NULL ORDER BY id LIMIT 500`)
	require.NoError(t, err)
	before, sums := read(), &listens{}
	until := config.Start.Add(config.Span + time.Hour)
	for range 5 {
		taken, err := rollups.New(alone).Count(t.Context(), 100, until, rollups.Day(until), rollups.Prices{}, sums)
		require.NoError(t, err)
		require.Equal(t, 100, taken)
	}
	require.Equal(t, 500, sums.ends)
	require.Less(t, read()-before, int64(5*500), "the statements read other actions than those that ended")
}
