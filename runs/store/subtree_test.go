package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

func inPortionsOf(n int) func(*store.WriterConfig) {
	return func(c *store.WriterConfig) { c.MaxSubtree = n }
}

// unfinished counts the unfinished actions of all runs.
func (w *writing) unfinished() int64 {
	w.t.Helper()
	return w.number(`SELECT count(*) FROM actions WHERE ended_at IS NULL`)
}

// passes handles due work until nothing is due, and returns how many actions ended in each pass.
func (w *timed) passes() (ended []int64) {
	w.t.Helper()
	for {
		before := w.unfinished()
		if w.pass(nil) == 0 {
			require.Zero(w.t, w.number(`SELECT count(*) FROM actions WHERE due <> 0 AND ended_at IS NOT NULL`))
			return ended
		}
		ended = append(ended, before-w.unfinished())
	}
}

// tree records two children of the root, each with n children, one of which has n children.
func (w *timed) tree(run string, n int) {
	w.t.Helper()
	w.create(run, "x", "y")
	for i := range n {
		w.child(run, "x", fmt.Sprint("x", i))
		w.child(run, "y", fmt.Sprint("y", i))
		if i > 0 {
			w.child(run, "y0", fmt.Sprint("z", i))
		}
	}
}

func TestLargeSubtreeIsAbortedInPortions(t *testing.T) {
	w := newTimed(t, inPortionsOf(4))
	w.tree("r", 10)
	w.report(to("r", "x3", 1, state.Succeeded), to("r", "x4", 1, state.Running))
	all := w.unfinished()
	abort := store.Abort{Action: actionID("r", "a0"), Reason: "enough", By: []byte("someone")}
	require.NoError(t, w.Abort(t.Context(), abort))
	require.Equal(t, state.Aborted, w.phase("r", "a0"), "acknowledged means final")
	require.Equal(t, all-1, w.unfinished(), "the rest follows")
	require.Equal(t, rpc.KindAborted, rpc.KindOf(w.RecordAction(t.Context(), newChild("r", "x", "late"))))
	require.NoError(t, w.Abort(t.Context(), abort), "a repeated abort is not an error")

	for _, n := range w.passes() {
		require.LessOrEqual(t, n, int64(4))
	}
	require.Zero(t, w.unfinished())
	require.Equal(t, state.Succeeded, w.phase("r", "x3"))
	for _, name := range []string{"x", "x4", "y0", "z9"} {
		row := w.row("r", name)
		require.Equal(t, state.Aborted, row.Phase, name)
		require.Equal(t, "enough", row.AbortReason, name)
		require.Equal(t, []byte("someone"), row.AbortedBy, name)
	}
	require.Empty(t, w.live.names())
	assertNoGaps(t, w.writing)
}

func TestLargeSubtreesEndWithTheirTops(t *testing.T) {
	w := newTimed(t, inPortionsOf(4))
	w.tree("ended", 6)
	w.tree("late", 6)
	w.limited("late", "deadline", schema.Limits{Deadline: time.Second})
	for i := range 9 {
		w.child("late", "deadline", fmt.Sprint("d", i))
	}
	w.create("small", "one")
	w.report(to("ended", "y0", 1, state.Failed), to("ended", "y", 1, state.Succeeded), to("small", "a0", 1, state.Succeeded))
	w.clock.Step(10 * time.Second)
	w.passes()
	require.Equal(t, "parent action y0 ended: FAILED", w.row("ended", "z1").AbortReason)
	require.Equal(t, "parent action y ended: SUCCEEDED", w.row("ended", "y5").AbortReason)
	require.Equal(t, "parent action a0 ended: SUCCEEDED", w.row("small", "one").AbortReason)
	require.Equal(t, state.TimedOut, w.phase("late", "deadline"))
	require.Equal(t, "parent action deadline ended: TIMED_OUT", w.row("late", "d8").AbortReason)
	require.Equal(t, state.Queued, w.phase("ended", "x5"), "it is below something that runs")
	require.Equal(t, state.Queued, w.phase("late", "z1"))
}

// TestSweepResumes: a process that dies between two portions loses none.
func TestSweepResumes(t *testing.T) {
	w := newTimed(t, inPortionsOf(4))
	w.tree("r", 10)
	require.NoError(t, w.Abort(t.Context(), store.Abort{Action: actionID("r", "a0")}))
	require.Positive(t, w.pass(nil))
	require.NoError(t, w.Stop(t.Context()))

	config := store.DefaultWriterConfig()
	config.MaxSubtree = 3
	w.Writer = store.NewWriter(config, store.WriterDeps{Pool: w.pool, Clock: w.clock, Live: w.live, Logger: zerolog.Nop(), Replica: "successor"})
	require.NoError(t, w.Start(t.Context()))
	w.passes()
	require.Zero(t, w.unfinished())
}

// TestReplicasAbortTheSameTree: replicas abort a large tree, parts of it and single actions at the same time, handle the
// same due work, and end actions that others abort.
func TestReplicasAbortTheSameTree(t *testing.T) {
	w := newTimed(t, inPortionsOf(4))
	w.tree("r", 12)
	config := store.DefaultWriterConfig()
	config.MaxSubtree = 3
	other := &timed{writing: &writing{t: t, pool: w.pool, live: w.live}, clock: w.clock, due: w.due}
	other.Writer = store.NewWriter(config, store.WriterDeps{Pool: w.pool, Clock: w.clock, Live: w.live, Logger: zerolog.Nop(), Replica: "other"})
	require.NoError(t, other.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, other.Stop(context.WithoutCancel(t.Context()))) })

	var all sync.WaitGroup
	for _, replica := range []*timed{w, other} {
		for _, action := range []string{"a0", "x", "y", "y0", "z3", "x5"} {
			all.Go(func() {
				if err := replica.Abort(t.Context(), store.Abort{Action: actionID("r", action), Reason: "enough"}); err != nil {
					t.Errorf("abort of %s: %v", action, err)
				}
			})
		}
		all.Go(func() {
			if _, err := replica.RecordTransitions(t.Context(), []store.Transition{to("r", "x7", 1, state.Succeeded)}); err != nil {
				t.Errorf("end of x7: %v", err)
			}
		})
		all.Go(func() {
			for w.unfinished() > 0 {
				replica.pass(nil)
			}
		})
	}
	all.Wait()
	require.Zero(t, w.unfinished())
	w.pass(nil) // an abort that found nothing to end may have come after the last pass
	require.Zero(t, w.number(`SELECT count(*) FROM actions WHERE due <> 0`), "no sweep is left")
	require.Zero(t, w.number(`
		SELECT count(*) FROM (SELECT action_id FROM action_events WHERE phase = ANY($1) GROUP BY action_id HAVING count(*) <> 1) twice`,
		[]state.Phase{state.Succeeded, state.Aborted}), "each ends once")
	require.Equal(t, "enough", w.row("r", "a0").AbortReason)
	assertNoGaps(t, w.writing)
}

// TestChildrenOfABuiltinActionEndWithIt: nothing says that an action without a process has no children.
func TestChildrenOfABuiltinActionEndWithIt(t *testing.T) {
	for name, start := range map[string]*store.Start{"after a while": {Lasts: time.Second}, "at once": {}} {
		t.Run(name, func(t *testing.T) {
			w := newTimed(t, inPortionsOf(4))
			w.create("r")
			for _, parent := range []string{"few", "many"} {
				w.limited("r", parent, schema.Limits{}, engineRun)
			}
			w.limited("r", "condition", schema.Limits{}, condition, func(a *store.NewAction) { a.Action.ParentName = new("few") })
			for i := range 9 {
				w.child("r", "many", fmt.Sprint("c", i))
			}
			w.pass(start)
			w.clock.Step(time.Minute)
			w.passes()
			require.Equal(t, state.Succeeded, w.phase("r", "many"))
			require.EqualValues(t, 1, w.unfinished(), "the root")
			require.Equal(t, "parent action few ended: SUCCEEDED", w.row("r", "condition").AbortReason)
		})
	}
}

func TestNoChildrenBelowAnActionThatHasNotStarted(t *testing.T) {
	w := newTimed(t)
	w.create("r")
	w.limited("r", "held", schema.Limits{}, func(a *store.NewAction) { a.Action.Hold = schema.HoldCache })
	require.Equal(t, rpc.KindFailedPrecondition, rpc.KindOf(w.RecordAction(t.Context(), newChild("r", "held", "c"))))
}

// TestNothingStartsBelowAFinishedRun: actions that wait for admission are not admitted while they wait for their end.
func TestNothingStartsBelowAFinishedRun(t *testing.T) {
	w := newTimed(t, inPortionsOf(2))
	w.create("r")
	w.Gate().Close()
	var queued []store.Queued
	for i := range 5 {
		name := fmt.Sprint("c", i)
		w.child("r", ident.RootAction, name)
		queued = append(queued, store.Queued{RunID: w.row("r", name).RunID, ID: w.row("r", name).ID})
	}
	require.NoError(t, w.Abort(t.Context(), store.Abort{Action: actionID("r", "a0")}))
	backlog, err := worklists.NewQueueReader(w.pool).Backlog(t.Context(), 10, 10)
	require.NoError(t, err)
	require.Empty(t, backlog.Waiting)
	n, err := w.Admit(t.Context(), "", queued)
	require.NoError(t, err)
	require.Zero(t, n, "an admission that was decided before the abort")
	w.passes()
	require.Zero(t, w.unfinished())
}

// TestSlowTransactions: a batch that takes too long is taken apart, and an operation that alone takes too long fails.
func TestSlowTransactions(t *testing.T) {
	w := newTimed(t, func(c *store.WriterConfig) { c.CommitTimeout = 2 * time.Second })
	w.create("stuck")
	w.create("free")
	tx, err := w.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }() // a pool with a transaction cannot be closed
	_, err = tx.Exec(t.Context(), `SELECT 1 FROM actions WHERE run_name = 'stuck' FOR UPDATE`)
	require.NoError(t, err)

	outcome := make(chan error, 9)
	for i := range cap(outcome) {
		run := "free"
		if i == 4 {
			run = "stuck"
		}
		go func() {
			err := w.RecordAction(context.WithoutCancel(t.Context()), newChild(run, "a0", fmt.Sprint("c", i)))
			if (err != nil) != (run == "stuck") {
				err = fmt.Errorf("child %d of %s: %w", i, run, err)
			} else {
				err = nil
			}
			outcome <- err
		}()
	}
	for range cap(outcome) {
		require.NoError(t, <-outcome)
	}
	require.NoError(t, tx.Rollback(t.Context()))
	w.child("stuck", "a0", "again")
	require.EqualValues(t, 8, w.number(`SELECT count(*) FROM actions WHERE run_name = 'free' AND parent_name IS NOT NULL`))
}
