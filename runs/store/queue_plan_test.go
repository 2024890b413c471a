package store_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// TestQueueReadsNoHistory runs every query of admission, of queue depths and of explanations, with much history, a
// long queue, and missing or complete statistics. The amount read must depend on the request alone.
func TestQueueReadsNoHistory(t *testing.T) {
	for _, analyzed := range []bool{false, true} {
		pool, _ := storetest.Seeded(t, storetest.SeedScale(t, 20))
		const waiting = 20_000
		_, err := pool.Exec(t.Context(), `
			WITH root AS (
				INSERT INTO actions (id, run_id, project, domain, run_name, name, action_type, phase, queue, admitted_at, created_at, updated_at)
				SELECT id, id, 'p', 'd', 'wide', 'a0', 1, 4, 'gpu', now(), now(), now() FROM (SELECT nextval('actions_id_seq') AS id) n RETURNING id)
			INSERT INTO actions (id, run_id, project, domain, run_name, name, parent_name, action_type, phase, queue, created_at, updated_at, ended_at, admitted_at)
			SELECT nextval('actions_id_seq'), root.id, 'p', 'd', 'wide', 'c' || n, 'a0', 1, CASE WHEN n <= 5000 THEN 5 ELSE 1 END, 'gpu', now(), now(),
				CASE WHEN n <= 5000 THEN now() END, CASE WHEN n <= 5100 THEN now() END
			FROM root, generate_series(1, $1::int + 5100) n`, waiting)
		require.NoError(t, err)
		statement := `DELETE FROM pg_statistic`
		if analyzed {
			statement = `ANALYZE actions`
		}
		_, err = pool.Exec(t.Context(), statement)
		require.NoError(t, err)

		w := writingOn(t, pool)
		w.Gate().Close()
		w.create("small", "c1")
		var live int64
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM actions WHERE admitted_at IS NOT NULL AND ended_at IS NULL`).Scan(&live))

		reads := func(what string, limit int64, ask func(*worklists.QueueReader)) {
			t.Helper()
			readers := storetest.Counted(t, pool)
			pool.Reset() // as in TestQueueReadsOnlyWaitingActions
			storetest.AwaitConnections(t, pool, "pid <> pg_backend_pid()")
			before := storetest.TuplesRead(t, pool)
			ask(worklists.NewQueueReader(readers))
			storetest.CloseAndCount(t, readers, pool)
			require.LessOrEqual(t, storetest.TuplesRead(t, pool)-before, limit, "%s, analyzed %t", what, analyzed)
		}
		var backlog *worklists.Backlog
		reads("backlog", live+100, func(q *worklists.QueueReader) {
			backlog, err = q.Backlog(t.Context(), 100, 100)
			require.NoError(t, err)
			require.Len(t, backlog.Waiting, 3)
		})
		children := []*worklists.Waiting{&backlog.Waiting[1], &backlog.Waiting[2]}
		reads("members", 100, func(q *worklists.QueueReader) {
			require.NoError(t, q.Members(t.Context(), children, 20))
			require.ElementsMatch(t, []int{1, 20}, []int{len(children[0].IDs), len(children[1].IDs)})
		})
		reads("load of a queue", 600, func(q *worklists.QueueReader) {
			load, err := q.Load(t.Context(), worklists.LoadScope{Queues: []string{"gpu"}})
			require.NoError(t, err)
			require.Equal(t, 100, load.Parts[0].Actions)
			require.True(t, load.Parts[0].Root)
		})
		reads("load of a run", 600, func(q *worklists.QueueReader) {
			load, err := q.Load(t.Context(), worklists.LoadScope{Runs: []int64{children[1].RunID, children[0].RunID}})
			require.NoError(t, err)
			require.Len(t, load.Runs, 1)
		})
		reads("load of all", 10*live, func(q *worklists.QueueReader) {
			_, err := q.Load(t.Context(), worklists.LoadScope{All: true})
			require.NoError(t, err)
		})
		reads("ahead", live+waiting+1000, func(q *worklists.QueueReader) {
			stands, err := q.Ahead(t.Context(), "gpu", nil, &schema.Action{ID: 1 << 40, Project: "p"})
			require.NoError(t, err)
			require.Equal(t, worklists.MaxAhead, stands.Ahead)
			require.Zero(t, stands.Turns)
		})
		reads("turns", live+waiting+1000, func(q *worklists.QueueReader) {
			stands, err := q.Ahead(t.Context(), "gpu", nil, &schema.Action{ID: 1 << 40, Project: "q"})
			require.NoError(t, err)
			require.Zero(t, stands.Ahead)
			require.Equal(t, []int{worklists.MaxAhead, 1}, []int{stands.Turns, stands.Projects})
		})
		require.NoError(t, w.Stop(context.WithoutCancel(t.Context())))

		// Recording into a queue with a limit counts the waiting actions there and nothing else.
		limited := storetest.Counted(t, pool)
		before := storetest.TuplesRead(t, pool)
		writer := store.NewWriter(store.DefaultWriterConfig(), store.WriterDeps{Pool: limited, Replica: "test", Queues: queues.New([]queues.Queue{
			{Name: "gpu", MaxDepth: 2 * waiting}, {Name: "default", MaxDepth: 10},
		})})
		require.NoError(t, writer.Start(t.Context()))
		for _, queue := range []string{"gpu", ""} {
			child := newChild("small", "a0", "in-"+queue)
			child.Action.Queue = queue
			require.NoError(t, writer.RecordAction(t.Context(), child))
		}
		require.NoError(t, writer.Stop(t.Context()))
		storetest.CloseAndCount(t, limited, pool)
		require.LessOrEqual(t, storetest.TuplesRead(t, pool)-before, int64(2*waiting+200), "depth, analyzed %t", analyzed)
	}
}
