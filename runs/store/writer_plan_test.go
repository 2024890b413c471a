package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pgtest"
	"github.com/flyte-binary/flyte-binary/runs/seed"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// TestTheWriterReadsWhatItConcerns fans out in databases whose statistics mislead: they know nothing, or only runs of one
// action, or only one run and one parent. For the planner an index that begins with the run is as good as another then,
// and reading all that is unfinished looks cheap; each batch would read the whole run.
func TestTheWriterReadsWhatItConcerns(t *testing.T) {
	for _, c := range []struct {
		name    string
		runs    int
		analyze bool
	}{{"no statistics", 0, false}, {"runs of one action", 3000, false}, {"one run", 0, true}} {
		t.Run(c.name, func(t *testing.T) {
			runs := c.runs
			pool := pgtest.New(t, store.Migrations())
			config := seed.DefaultConfig()
			config.Project, config.Domain, config.Runs, config.Children, config.Wide = "p", "d", runs, 0, 0
			if runs > 0 {
				require.NoError(t, seed.Fill(t.Context(), pool, config))
			}
			writers, err := pgxpool.New(t.Context(), pgtest.URL(pool))
			require.NoError(t, err)
			const children, callers = 1500, 50
			before := tuplesRead(t, pool)
			w := writingOn(t, writers)
			w.create("wide")
			forEach(callers, children, func(i int) { w.child("wide", "a0", fmt.Sprint("c", i)) })
			if c.analyze {
				_, err := pool.Exec(t.Context(), `ANALYZE actions`)
				require.NoError(t, err)
			}
			forEach(callers, children, func(i int) { w.report(to("wide", fmt.Sprint("c", i), 1, state.Succeeded)) })
			forEach(callers, 200, func(i int) { w.create(fmt.Sprint("single", i)) })
			require.NoError(t, w.Stop(context.WithoutCancel(t.Context())))
			writers.Close() // whose connections report their statistics with their end
			require.Eventually(t, func() bool {
				var left int
				require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()`).Scan(&left))
				return left <= 1
			}, 10*time.Second, 10*time.Millisecond)
			const operations = 2*children + 200
			perOperation := float64(tuplesRead(t, pool)-before) / operations
			t.Logf("%.1f index entries read for each operation", perOperation)
			require.Less(t, perOperation, 30.0)
		})
	}
}

// tuplesRead is how many entries of the indexes of actions were read.
func tuplesRead(t *testing.T, pool *pgxpool.Pool) int64 {
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
	return n
}

// forEach calls do for 0 to n-1, some at the same time.
func forEach(callers, n int, do func(int)) {
	work := make(chan int)
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for i := range work {
				do(i)
			}
		})
	}
	for i := range n {
		work <- i
	}
	close(work)
	group.Wait()
}
