package store_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// lost takes attempt 1 of an action of the run r back from a cluster.
func (w *writing) lost(name, cluster string, waiting bool) store.Reclaim {
	w.t.Helper()
	row := w.row("r", name)
	ended, next := to("r", name, 1, state.Failed), to("r", name, 2, state.Queued)
	ended.Error = []byte("lost")
	return store.Reclaim{
		Ref:     schema.Ref{ID: row.ID, RunID: row.RunID, Project: "p", Domain: "d", RunName: "r", Name: name},
		Cluster: cluster, Attempt: 1, Waiting: waiting, Lost: ended, Next: &next,
	}
}

func (w *writing) reclaim(attempts ...store.Reclaim) int {
	w.t.Helper()
	ended, err := w.Reclaim(w.t.Context(), attempts)
	require.NoError(w.t, err)
	return ended
}

// TestAnAttemptIsTakenBackOnce: the old attempt ends, the next one waits for admission on no cluster, and the second to take it back
// changes nothing.
func TestAnAttemptIsTakenBackOnce(t *testing.T) {
	w := newWriting(t)
	w.create("r", "c")
	require.Equal(t, []store.Outcome{store.OutcomeApplied}, w.report(to("r", "c", 1, state.Running)))
	one := w.lost("c", ident.DefaultCluster, false)

	var ended atomic.Int64
	var both sync.WaitGroup
	for range 8 {
		both.Go(func() {
			n, err := w.Reclaim(t.Context(), []store.Reclaim{one})
			if err == nil {
				ended.Add(int64(n))
			}
		})
	}
	both.Wait()
	require.EqualValues(t, 1, ended.Load())
	row := w.row("r", "c")
	require.Equal(t, state.Queued, row.Phase)
	require.EqualValues(t, 2, row.Attempt)
	require.Nil(t, row.AdmittedAt)
	require.Empty(t, row.Cluster)
	require.Equal(t, ident.DefaultCluster, row.AvoidCluster)
	require.NotContains(t, w.live.names(), "r/c")
	require.EqualValues(t, 1, w.number(`SELECT count(*) FROM action_events WHERE action_id = $1 AND phase = $2`, row.ID, state.Failed))
}

// TestALostClusterIsNotHeard: what it reports of the attempt that was taken back is refused, before and after another cluster runs the next.
func TestALostClusterIsNotHeard(t *testing.T) {
	w := newWriting(t)
	w.create("r", "c")
	w.report(to("r", "c", 1, state.Running))
	require.Equal(t, 1, w.reclaim(w.lost("c", ident.DefaultCluster, false)))
	late := func(attempt int32, phase state.Phase) store.Transition {
		said := to("r", "c", attempt, phase)
		said.Cluster, said.Reporter = ident.DefaultCluster, ident.DefaultCluster
		return said
	}
	for _, said := range []store.Transition{late(1, state.Running), late(1, state.Succeeded), late(1, state.Failed), late(2, state.Running), late(2, state.Succeeded)} {
		require.Equal(t, []store.Outcome{store.OutcomeRefused}, w.report(said), "%+v", said.To)
	}
	require.Equal(t, []store.Outcome{store.OutcomeRefused, store.OutcomeRefused}, w.report(late(1, state.Failed), late(2, state.Queued)))
	require.Equal(t, state.Queued, w.phase("r", "c"))
	require.EqualValues(t, 2, w.row("r", "c").Attempt)
}

// TestAnEarlierPlacementIsNotHeard: an attempt was taken back twice, and the first cluster has the action again. What its controller still has
// of the first attempt is refused, even if the attempt were the same.
func TestAnEarlierPlacementIsNotHeard(t *testing.T) {
	w := newWriting(t)
	w.create("r", "c")
	require.Equal(t, 1, w.reclaim(w.lost("c", ident.DefaultCluster, false)))
	row := w.row("r", "c")
	require.EqualValues(t, 1, row.Placement)
	admitted, err := w.Admit(t.Context(), "", []store.Queued{{RunID: row.RunID, ID: row.ID}})
	require.NoError(t, err)
	require.Equal(t, 1, admitted)
	from := func(placement int32, phase state.Phase) store.Transition {
		said := to("r", "c", 2, phase)
		said.Cluster, said.Reporter, said.Placement = ident.DefaultCluster, ident.DefaultCluster, &placement
		return said
	}
	require.Equal(t, []store.Outcome{store.OutcomeRefused, store.OutcomeRefused, store.OutcomeApplied},
		w.report(from(0, state.Running), from(0, state.Succeeded), from(1, state.Running)))
	require.Equal(t, state.Running, w.phase("r", "c"))
	refs, err := worklists.NewLiveReader(w.pool).Live(t.Context(), worklists.Selection{Runner: schema.RunnerExecutor, Shard: ident.AllShards}, schema.Ref{}, 10)
	require.NoError(t, err)
	placements := map[string]int32{}
	for _, ref := range refs {
		placements[ref.Name] = ref.Placement
	}
	require.Equal(t, map[string]int32{"a0": 0, "c": 1}, placements)
}

// TestOnlyWhatIsMeantIsTakenBack: not an attempt that has begun if only those that wait are meant, not one of another cluster, not a later
// one, not one that has ended.
func TestOnlyWhatIsMeantIsTakenBack(t *testing.T) {
	w := newWriting(t)
	w.create("r", "begun", "elsewhere", "later", "ended", "waits")
	w.report(to("r", "begun", 1, state.Running))
	w.report(to("r", "ended", 1, state.Succeeded))
	later := w.lost("later", ident.DefaultCluster, false)
	w.report(to("r", "later", 2, state.Running))
	require.Zero(t, w.reclaim(
		w.lost("begun", ident.DefaultCluster, true), w.lost("elsewhere", "west", false), later, w.lost("ended", ident.DefaultCluster, false),
	))
	require.Equal(t, 1, w.reclaim(w.lost("waits", ident.DefaultCluster, true)))
}

// TestTheLastAttemptThatIsTakenBackFailsTheAction when the budget of the system is used up.
func TestTheLastAttemptThatIsTakenBackFailsTheAction(t *testing.T) {
	w := newWriting(t)
	w.create("r", "c")
	w.child("r", "c", "below")
	one := w.lost("c", ident.DefaultCluster, false)
	one.Next = nil
	require.Equal(t, 1, w.reclaim(one))
	require.Equal(t, state.Failed, w.phase("r", "c"))
	require.Equal(t, state.Aborted, w.phase("r", "below"))
}
