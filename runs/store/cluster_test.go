package store_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
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
