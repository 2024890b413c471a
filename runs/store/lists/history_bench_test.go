package lists_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/deletions"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// BenchmarkHistory measures what a long history takes: bytes of each action, the deletion of old runs, and the vacuum after it.
// FLYTE_HISTORY_RUNS is the number of runs of ten actions with three events each.
func BenchmarkHistory(b *testing.B) {
	c := storetest.DefaultConfig()
	c.Runs, c.Wide, c.Events = 5_000, 0, 3
	if text := os.Getenv("FLYTE_HISTORY_RUNS"); text != "" {
		var err error
		c.Runs, err = strconv.Atoi(text)
		require.NoError(b, err)
	}
	for range b.N {
		config := pgtest.New(b, store.Migrations()).Config()
		delete(config.ConnConfig.RuntimeParams, "statement_timeout") // filling takes minutes
		pool, err := pgxpool.NewWithConfig(b.Context(), config)
		require.NoError(b, err)
		b.Cleanup(pool.Close)
		require.NoError(b, storetest.Fill(b.Context(), pool, c))
		number := func(query string) (n int64) {
			require.NoError(b, pool.QueryRow(b.Context(), query).Scan(&n))
			return n
		}
		actions := float64(number(`SELECT count(*) FROM actions`))
		b.ReportMetric(actions, "actions")
		b.ReportMetric(float64(number(`SELECT pg_table_size('actions')`))/actions, "row-B/action")
		b.ReportMetric(float64(number(`SELECT pg_indexes_size('actions')`))/actions, "index-B/action")
		b.ReportMetric(float64(number(`SELECT pg_total_relation_size('action_events')`))/actions, "events-B/action")

		keeper := deletions.New(deletions.Deps{Pool: pool, Replica: "test"})
		rows, err := pool.Query(b.Context(), `SELECT id FROM actions WHERE parent_name IS NULL ORDER BY id LIMIT $1`, c.Runs/10)
		require.NoError(b, err)
		roots, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		require.NoError(b, err)
		began, deleted := time.Now(), 0
		for _, root := range roots {
			_, err := keeper.Mark(b.Context(), root, time.Now())
			require.NoError(b, err)
			for {
				n, err := keeper.DeleteRows(b.Context(), root, 500)
				require.NoError(b, err)
				if deleted += n; n == 0 {
					break
				}
			}
		}
		took := time.Since(began).Seconds()
		require.Positive(b, deleted)
		b.ReportMetric(float64(deleted)/took, "deleted-rows/s")
		b.ReportMetric(float64(len(roots))/took, "deleted-runs/s")
		began = time.Now()
		require.NoError(b, storetest.Exec(b.Context(), pool, `VACUUM actions`, `VACUUM action_events`))
		b.ReportMetric(time.Since(began).Seconds(), "vacuum-s")
	}
}
