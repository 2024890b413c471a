package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// TestAReportDoesNotAdmit: only admission knows the limits. A report about an action that waits for it changes nothing.
func TestAReportDoesNotAdmit(t *testing.T) {
	w := newWriting(t)
	w.Gate().Close()
	w.create("r", "c")
	for _, begun := range []state.Phase{state.WaitingForResources, state.Initializing, state.Running} {
		require.Equal(t, []store.Outcome{store.OutcomeRefused}, w.report(to("r", "c", 1, begun)))
	}
	waiting := w.row("r", "c")
	require.Nil(t, waiting.AdmittedAt)
	require.Nil(t, waiting.StartedAt)
	require.Equal(t, state.Queued, waiting.Phase)
	require.Empty(t, w.live.names())

	admitted, err := w.Admit(t.Context(), "", []store.Queued{{RunID: waiting.RunID, ID: waiting.ID}})
	require.NoError(t, err)
	require.Equal(t, 1, admitted)
	require.Equal(t, []store.Outcome{store.OutcomeApplied}, w.report(to("r", "c", 1, state.Running)))
}

// TestAReportOfAnotherClusterIsRefused: an executor whose work was given to another cluster cannot change the action.
func TestAReportOfAnotherClusterIsRefused(t *testing.T) {
	w := newWriting(t)
	w.create("r", "c")
	from := func(cluster string, phase state.Phase) store.Transition {
		observed := to("r", "c", 1, phase)
		observed.Cluster = cluster
		return observed
	}
	require.Equal(t, ident.DefaultCluster, w.row("r", "c").Cluster)
	require.Equal(t, []store.Outcome{store.OutcomeRefused, store.OutcomeApplied, store.OutcomeRefused},
		w.report(from("west", state.Running), from(ident.DefaultCluster, state.Running), from("west", state.Succeeded)))
	require.Equal(t, state.Running, w.phase("r", "c"))
	require.Equal(t, []store.Outcome{store.OutcomeApplied, store.OutcomeTerminal},
		w.report(from(ident.DefaultCluster, state.Succeeded), from("west", state.Failed)))
}

// TestTheClusterIsChosenAtAdmission: what waits in a queue follows the queue to another cluster; what is live stays.
func TestTheClusterIsChosenAtAdmission(t *testing.T) {
	pool := pgtest.New(t, store.Migrations())
	east := writerOf(t, pool, queues.Queue{Name: queues.Default, Cluster: "east"})
	east.create("r", "live")
	east.Gate().Close()
	east.child("r", ident.RootAction, "waits")
	require.Equal(t, "east", east.row("r", "waits").Cluster)

	west := writerOf(t, pool, queues.Queue{Name: queues.Default, Cluster: "west"})
	waiting := west.row("r", "waits")
	_, err := west.Admit(t.Context(), "", []store.Queued{{RunID: waiting.RunID, ID: waiting.ID}})
	require.NoError(t, err)
	require.Equal(t, "west", west.row("r", "waits").Cluster)
	require.Equal(t, []string{"west"}, west.live.clusters())
	require.Equal(t, "east", west.row("r", "live").Cluster)
}

// writerOf is a writer with a queue.
func writerOf(t *testing.T, pool *pgxpool.Pool, queue queues.Queue) *writing {
	t.Helper()
	w := &writing{t: t, pool: pool, live: &liveRecorder{}}
	w.Writer = store.NewWriter(store.DefaultWriterConfig(), store.WriterDeps{
		Pool: pool, Clock: clock.System{}, Live: w.live, Logger: zerolog.Nop(), Replica: queue.Cluster, Queues: queues.New([]queues.Queue{queue}),
	})
	w.Gate().Set(1_000_000, 0)
	require.NoError(t, w.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, w.Stop(context.WithoutCancel(t.Context()))) })
	return w
}

// counting returns a pool whose reads of actions are counted, and how many were read before. The planner knows the rows if they are analyzed.
func counting(t *testing.T, pool *pgxpool.Pool, analyzed bool) (readers *pgxpool.Pool, before int64) {
	t.Helper()
	if analyzed {
		_, err := pool.Exec(t.Context(), `ANALYZE actions`)
		require.NoError(t, err)
	}
	readers = storetest.Counted(t, pool)
	pool.Reset()
	storetest.AwaitConnections(t, pool, "pid <> pg_backend_pid()")
	return readers, storetest.TuplesRead(t, pool)
}

// TestAClusterReadsOnlyWhatRunsThere: a controller, or what looks at its cluster, does not pay for the work of all other clusters.
func TestAClusterReadsOnlyWhatRunsThere(t *testing.T) {
	const clusters, each = 40, 100
	for _, analyzed := range []bool{false, true} {
		pool := pgtest.New(t, store.Migrations())
		_, err := pool.Exec(t.Context(), `
			WITH root AS (INSERT INTO actions (id, run_id, project, domain, run_name, name, action_type, phase, created_at, updated_at, admitted_at, cluster)
				SELECT id, id, 'p', 'd', 'wide', 'a0', 1, 4, now(), now(), now(), 'c0' FROM (SELECT nextval('actions_id_seq') AS id) n RETURNING id)
			INSERT INTO actions (id, run_id, project, domain, run_name, name, parent_name, action_type, phase, created_at, updated_at, admitted_at, cluster)
			SELECT nextval('actions_id_seq'), root.id, 'p', 'd', 'wide', 'c' || n, 'a0', 1, 4, now(), now(), now(), 'c' || n % $1
			FROM root, generate_series(1, $1::int * $2::int) n`, clusters, each)
		require.NoError(t, err)
		_, err = pool.Exec(t.Context(), `
			INSERT INTO actions (id, run_id, project, domain, run_name, name, parent_name, action_type, phase, created_at, updated_at, admitted_at, ended_at, cluster)
			SELECT nextval('actions_id_seq'), run_id, 'p', 'd', 'wide', 'e' || n, 'a0', 1, 5, now(), now(), now(), now(), 'c' || n % $1
			FROM (SELECT run_id FROM actions LIMIT 1) r, generate_series(1, $1::int * $2::int * 5) n`, clusters, each)
		require.NoError(t, err)
		readers, before := counting(t, pool, analyzed)
		live := worklists.NewLiveReader(readers)
		for cluster := range clusters {
			found := 0
			for after, of := (schema.Ref{}), (worklists.Selection{Cluster: fmt.Sprint("c", cluster), Shard: ident.AllShards}); ; {
				refs, err := live.Live(t.Context(), of, after, 100)
				require.NoError(t, err)
				if len(refs) == 0 {
					break
				}
				found, after = found+len(refs), refs[len(refs)-1]
			}
			require.InDelta(t, each, found, 1)
		}
		placed, err := live.OnCluster(t.Context(), worklists.Placed{Cluster: "c7"}, schema.Ref{}, 1000)
		require.NoError(t, err)
		require.Len(t, placed, each)
		storetest.CloseAndCount(t, readers, pool)
		require.Less(t, storetest.TuplesRead(t, pool)-before, int64(2*clusters*each), "all clusters together read each action once, analyzed %t", analyzed)
	}
}

// TestPoolsAndConnectorsReadOnlyWhatTheyRun: it is little, and may be nothing.
func TestPoolsAndConnectorsReadOnlyWhatTheyRun(t *testing.T) {
	const all, theirs = 4000, 10
	for _, analyzed := range []bool{false, true} {
		pool := pgtest.New(t, store.Migrations())
		_, err := pool.Exec(t.Context(), `
			INSERT INTO actions (id, run_id, project, domain, run_name, name, action_type, phase, created_at, updated_at, admitted_at, runner)
			SELECT n, n, 'p', 'd', 'r' || n, 'a0', 1, 4, now(), now(), now(), CASE n % ($1 / $2) WHEN 7 THEN $3 WHEN 8 THEN $4 ELSE 0 END
			FROM generate_series(1, $1::int) n`, all, theirs, schema.RunnerConnector, schema.RunnerPool)
		require.NoError(t, err)
		readers, before := counting(t, pool, analyzed)
		for _, runner := range []schema.Runner{schema.RunnerPool, schema.RunnerConnector} {
			refs, err := worklists.NewLiveReader(readers).Live(t.Context(), worklists.Selection{Runner: runner, Shard: ident.AllShards}, schema.Ref{}, 100)
			require.NoError(t, err)
			require.Len(t, refs, theirs)
		}
		storetest.CloseAndCount(t, readers, pool)
		require.Less(t, storetest.TuplesRead(t, pool)-before, int64(3*theirs), "analyzed %t", analyzed)
	}
}

// TestOneClusterHasNoEntriesByCluster: an index by cluster costs an installation with one cluster nothing, and its work is found without.
func TestOneClusterHasNoEntriesByCluster(t *testing.T) {
	w := newWriting(t)
	w.create("r", "waits", "runs", "ends")
	w.report(to("r", "runs", 1, state.Running), to("r", "ends", 1, state.Running), to("r", "ends", 1, state.Succeeded))
	rows, err := w.pool.Query(t.Context(), `SELECT indexrelid::regclass::text FROM pg_index
		WHERE indrelid = 'actions'::regclass AND EXISTS (SELECT FROM pg_attribute WHERE attrelid = indexrelid AND attname = 'cluster')`)
	require.NoError(t, err)
	byCluster, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"actions_live_elsewhere", "actions_root_scope_cluster"}, byCluster)
	for _, index := range byCluster {
		require.Equal(t, w.number(`SELECT current_setting('block_size')::bigint`), w.number(`SELECT pg_relation_size($1::regclass)`, index),
			"index %s has more than its first page, which describes it", index)
	}

	placed, err := worklists.NewLiveReader(w.pool).OnCluster(t.Context(), worklists.Placed{Cluster: ident.DefaultCluster}, schema.Ref{}, 10)
	require.NoError(t, err)
	names := make([]string, len(placed))
	for i, ref := range placed {
		names[i] = ref.Name
	}
	require.Equal(t, []string{ident.RootAction, "waits", "runs"}, names)
}
