package store_test

import (
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/internal/test/proptest"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// TestRandomOperationsKeepTheTablesConsistent throws random operations of several callers at one run and checks what must hold
// between rows, log and tree.
//
// Story R32: two writers of one status disagreed about how an action had ended.
func TestRandomOperationsKeepTheTablesConsistent(t *testing.T) {
	for _, portion := range []int{1, 500} {
		t.Run(fmt.Sprint("subtrees in portions of ", portion), func(t *testing.T) { keepConsistent(t, newTimed(t, inPortionsOf(portion))) })
	}
}

func keepConsistent(t *testing.T, w *timed) {
	round := 0
	proptest.Check(t, func(rt *rapid.T) {
		round++
		run := fmt.Sprint("r", round)
		w.create(run)
		names := []string{ident.RootAction, "c1", "c2", "c3", "c4", "c5"}
		name := rapid.SampledFrom(names)
		var wg sync.WaitGroup
		for range rapid.IntRange(1, 40).Draw(rt, "operations") {
			op := w.randomOperation(rt, run, name)
			wg.Go(op)
			if rapid.Bool().Draw(rt, "wait") {
				wg.Wait()
			}
		}
		wg.Wait()
		w.passes()
		for what, query := range map[string]string{
			"the row is not its last event": `
				SELECT count(*) FROM actions a JOIN action_events e ON e.run_id = a.run_id AND e.action_id = a.id
				WHERE e.seq = (SELECT max(seq) FROM action_events l WHERE l.action_id = a.id)
				AND (a.phase, a.attempt, a.version) <> (e.phase, e.attempt, e.version)`,
			"an action ended twice in one attempt": `
				SELECT count(*) FROM (SELECT 1 FROM action_events WHERE phase IN (5, 6, 7, 8, 10)
				GROUP BY action_id, attempt HAVING count(*) > 1) twice`,
			"unfinished below something that ended": `
				SELECT count(*) FROM actions c JOIN actions p ON p.run_id = c.run_id AND p.name = c.parent_name
				WHERE p.ended_at IS NOT NULL AND c.ended_at IS NULL`,
			"the end is not that of the phase": `
				SELECT count(*) FROM actions WHERE (ended_at IS NOT NULL) <> (phase IN (5, 6, 7, 8, 10))`,
			"times out of order": `
				SELECT count(*) FROM actions WHERE started_at < created_at OR ended_at < coalesce(started_at, created_at)`,
			"paused is miscounted": `
				SELECT count(*) FROM actions r WHERE parent_name IS NULL
				AND paused_count <> (SELECT count(*) FROM actions a WHERE a.run_id = r.id AND a.phase = 9)`,
			"phases are miscounted": `
				SELECT count(*) FROM actions r CROSS JOIN generate_series(0, 10) AS p (phase) WHERE parent_name IS NULL AND counted_seq = last_seq
				AND phase_counts[p.phase + 1] IS DISTINCT FROM (SELECT count(*) FROM actions a WHERE a.run_id = r.id AND a.phase = p.phase)`,
			"phases are not counted": `
				SELECT count(*) FROM actions WHERE parent_name IS NULL AND counted_seq IS NULL`,
			"a gap in the log": `
				SELECT count(*) FROM (SELECT run_id, count(*) AS n, max(seq) AS high FROM action_events GROUP BY run_id) e
				JOIN actions r ON r.id = e.run_id WHERE high <> n OR high <> r.last_seq`,
		} {
			if n := w.number(query); n != 0 {
				rt.Fatalf("%s: %d", what, n)
			}
		}
	})
}

func (w *timed) randomOperation(rt *rapid.T, run string, name *rapid.Generator[string]) func() {
	ctx := w.t.Context()
	target := name.Draw(rt, "action")
	switch rapid.IntRange(0, 11).Draw(rt, "kind") {
	case 0, 1, 2, 3:
		child := newChild(run, name.Draw(rt, "parent"), target)
		if rapid.IntRange(0, 3).Draw(rt, "type") == 0 {
			child.Action.ActionType = int16(workflow.ActionType_ACTION_TYPE_CONDITION)
		}
		return func() { _ = w.RecordAction(ctx, child) } // many are refused, as expected
	case 4:
		return func() { _ = w.Abort(ctx, store.Abort{Action: actionID(run, target), Reason: "test"}) }
	case 5:
		return func() {
			_ = w.Signal(ctx, store.Signal{Action: actionID(run, target), Info: &workflow.SignalInfo{Output: integer(1)}})
		}
	case 6:
		return func() { w.pass(nil) }
	case 7: // a version that does not count has written
		return func() { w.miscount(run) }
	default:
		var transitions []store.Transition
		for range rapid.IntRange(1, 3).Draw(rt, "transitions") {
			t := to(run, target, rapid.Int32Range(1, 3).Draw(rt, "attempt"), state.Phase(rapid.IntRange(1, 10).Draw(rt, "phase")))
			transitions = append(transitions, t)
		}
		return func() { _, _ = w.RecordTransitions(ctx, transitions) }
	}
}
