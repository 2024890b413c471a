package store_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// TestWriterReadsOnlyTheRowsOfItsBatch fans out in databases whose statistics mislead: they know nothing, or an empty
// table, or only runs of one action, or only one run and one parent. Any index that begins with the run then looks as
// good as another, and reading all unfinished actions looks cheap; each batch would read the whole run.
//
// Story R8: each change of a status was one row inserted by one call that a reconciler waited for, so pods of a
// fan-out were made half an hour late.
func TestWriterReadsOnlyTheRowsOfItsBatch(t *testing.T) {
	for _, c := range []struct {
		name                 string
		runs                 int
		first, roots, middle bool // VACUUM ANALYZE before the first action, after some runs of one action, between records and ends
	}{
		{"no statistics", 0, false, false, false},
		{"an empty table", 0, true, false, false},
		{"runs of one action", 3000, true, false, false},
		{"some roots", 0, false, true, false},
		{"one run", 0, false, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			runs := c.runs
			pool := pgtest.New(t, store.Migrations())
			config := storetest.DefaultConfig()
			config.Project, config.Domain, config.Runs, config.Children, config.Wide = "p", "d", runs, 0, 0
			if runs > 0 {
				require.NoError(t, storetest.Fill(t.Context(), pool, config))
			}
			if c.first {
				_, err := pool.Exec(t.Context(), `VACUUM ANALYZE actions`)
				require.NoError(t, err)
			}
			writers := storetest.Counted(t, pool)
			const children, callers = 1500, 50
			before, ofEnded := storetest.TuplesRead(t, pool), allChildrenScans(t, pool)
			w := writingOn(t, writers)
			singles := func(first, beyond int) {
				forEach(callers, beyond-first, func(i int) {
					run := fmt.Sprint("single", first+i)
					w.create(run)
					w.report(to(run, "a0", 1, state.Succeeded))
				})
			}
			singles(0, 100)
			if c.roots {
				_, err := pool.Exec(t.Context(), `VACUUM ANALYZE actions`)
				require.NoError(t, err)
			}
			singles(100, 200)
			w.create("wide")
			forEach(callers, children, func(i int) { w.child("wide", "a0", fmt.Sprint("c", i)) })
			if c.middle {
				_, err := pool.Exec(t.Context(), `VACUUM ANALYZE actions`)
				require.NoError(t, err)
			}
			forEach(callers, children, func(i int) { w.report(to("wide", fmt.Sprint("c", i), 1, state.Succeeded)) })
			require.NoError(t, w.Stop(context.WithoutCancel(t.Context())))
			storetest.CloseAndCount(t, writers, pool)
			const operations = 2*children + 2*200
			perOperation := float64(storetest.TuplesRead(t, pool)-before) / operations
			t.Logf("%.1f index entries read for each operation", perOperation)
			require.Less(t, perOperation, 3.0)
			require.Equal(t, ofEnded, allChildrenScans(t, pool), "an end reads children that have ended")
		})
	}
}

// TestQueueReadsOnlyWaitingActions reads a short queue alongside many finished runs.
func TestQueueReadsOnlyWaitingActions(t *testing.T) {
	pool := pgtest.New(t, store.Migrations())
	config := storetest.DefaultConfig()
	config.Project, config.Domain, config.Runs, config.Children, config.Wide = "p", "d", 900, 9, 0 // without live ones
	require.NoError(t, storetest.Fill(t.Context(), pool, config))
	w := writingOn(t, pool)
	w.create("live")
	for i := range 300 {
		w.child("live", "a0", fmt.Sprint("c", i))
	}
	w.Gate().Close()
	w.create("waits")
	w.create("too", "c1")
	require.NoError(t, w.Stop(context.WithoutCancel(t.Context())))
	readers := storetest.Counted(t, pool)
	pool.Reset() // The writer's connections report their statistics when they end; that must not count as reading.
	storetest.AwaitConnections(t, pool, "pid <> pg_backend_pid()")
	before := storetest.TuplesRead(t, pool)
	queue := worklists.NewQueueReader(readers)
	backlog, err := queue.Backlog(t.Context(), 100, 100)
	require.NoError(t, err)
	require.Equal(t, 301, backlog.Live)
	require.Len(t, backlog.Waiting, 2, "two roots, and a child of one of them")
	require.Len(t, backlog.Waiting[0].IDs, 2)
	children := []*worklists.Waiting{&backlog.Waiting[1]}
	load, err := queue.Load(t.Context(), worklists.LoadScope{All: true})
	require.NoError(t, err)
	require.NoError(t, queue.Members(t.Context(), children, 10))
	require.Equal(t, []int{300}, slices.Collect(maps.Values(load.Runs)))
	require.Len(t, children[0].IDs, 1)
	depths, err := queue.Depths(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, depths[0].Waits)
	storetest.CloseAndCount(t, readers, pool)
	require.Less(t, storetest.TuplesRead(t, pool)-before, int64(1500), "the live ones twice, and whether each has children")
}

// allChildrenScans is how often the index was used that has all children of an action, ended ones too.
func allChildrenScans(t *testing.T, pool *pgxpool.Pool) (scans int64) {
	t.Helper()
	const query = `SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'actions_run_parent'`
	require.NoError(t, pool.QueryRow(t.Context(), query).Scan(&scans))
	return scans
}

// forEach calls do for 0 to n-1, several at a time.
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
