package storetest

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
)

// Counted is another pool on the same database.
func Counted(t testing.TB, pool *pgxpool.Pool) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(pgtest.URL(pool))
	require.NoError(t, err)
	config.ConnConfig.RuntimeParams["application_name"] = "counted"
	other, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(other.Close)
	return other
}

// CloseAndCount closes a pool and waits until its connections are closed: they report their statistics when they end.
func CloseAndCount(t testing.TB, closing, pool *pgxpool.Pool) {
	t.Helper()
	closing.Close()
	AwaitConnections(t, pool, "application_name = 'counted'")
}

// AwaitConnections waits until no connection to the database matches a condition.
func AwaitConnections(t testing.TB, pool *pgxpool.Pool, condition string) {
	t.Helper()
	require.Eventually(t, func() bool {
		var left int
		query := "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND " + condition
		require.NoError(t, pool.QueryRow(t.Context(), query).Scan(&left))
		return left == 0
	}, time.Minute, 10*time.Millisecond)
}

// TuplesRead is the number of entries read from the indexes of actions.
func TuplesRead(t testing.TB, pool *pgxpool.Pool) int64 {
	t.Helper()
	var n int64
	const query = `SELECT coalesce(sum(idx_tup_read), 0)::bigint + (SELECT coalesce(seq_tup_read, 0) FROM pg_stat_user_tables WHERE relname = 'actions')
		FROM pg_stat_user_indexes WHERE relname = 'actions'`
	require.NoError(t, pool.QueryRow(t.Context(), query).Scan(&n))
	rows, err := pool.Query(t.Context(), `SELECT indexrelname::text, idx_scan, idx_tup_read FROM pg_stat_user_indexes WHERE relname = 'actions' AND idx_scan > 0`)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var name string
		var scans, read int64
		require.NoError(t, rows.Scan(&name, &scans, &read))
		t.Logf("%s: %d entries in %d scans", name, read, scans)
	}
	require.NoError(t, rows.Err())
	return n
}
