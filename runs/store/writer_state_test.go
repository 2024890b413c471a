package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

func TestActionGoesThroughAllPhases(t *testing.T) {
	w := newWriting(t)
	w.create("r", "c")
	require.ElementsMatch(t, []string{"r/a0", "r/c"}, w.live.names())

	started := w.row("r", "c").CreatedAt.Add(time.Microsecond)
	running := to("r", "c", 1, state.Running)
	running.At = &started
	require.Equal(t, []store.Outcome{store.OutcomeApplied, store.OutcomeStale}, w.report(running, to("r", "c", 1, state.Initializing)))
	row := w.row("r", "c")
	require.Equal(t, started, row.StartedAt.UTC())
	require.Nil(t, row.EndedAt)

	done := to("r", "c", 1, state.Succeeded)
	done.ReportURI = "/data/p/d/r/c/1/report.html"
	require.Equal(t, []store.Outcome{store.OutcomeApplied, store.OutcomeTerminal, store.OutcomeUnknown},
		w.report(done, to("r", "c", 1, state.Failed), to("r", "none", 1, state.Running)))
	row = w.row("r", "c")
	require.Equal(t, state.Succeeded, row.Phase)
	require.Equal(t, "/data/p/d/r/c/1", row.OutputURI, "a success without outputs still has its directory")
	require.Equal(t, "/data/p/d/r/c/1/report.html", row.ReportURI)
	require.False(t, row.EndedAt.Before(*row.StartedAt))
	require.Equal(t, []string{"r/a0"}, w.live.names())
}

func TestTimesFromOtherClocksKeepTheirOrder(t *testing.T) {
	w := newWriting(t)
	w.create("r", "c")
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	running, done := to("r", "c", 1, state.Running), to("r", "c", 1, state.Succeeded)
	running.At, done.At = &future, &past
	w.report(running)
	w.report(done)
	row := w.row("r", "c")
	require.False(t, row.StartedAt.Before(row.CreatedAt))
	require.False(t, row.EndedAt.Before(*row.StartedAt))
	require.True(t, row.EndedAt.Before(time.Now().Add(time.Minute)))
}

// Story R18: attempts that were retried vanished, with their errors, logs and end times.
func TestFailureWithRetryIsNeverTerminal(t *testing.T) {
	w := newWriting(t)
	w.create("r", "parent")
	w.child("r", "parent", "child")
	w.report(to("r", "parent", 1, state.Running))

	failed := to("r", "parent", 1, state.Failed)
	failed.Error = []byte("boom")
	require.Equal(t, []store.Outcome{store.OutcomeApplied, store.OutcomeApplied}, w.report(failed, to("r", "parent", 2, state.Queued)))
	row := w.row("r", "parent")
	require.Equal(t, state.Queued, row.Phase)
	require.EqualValues(t, 2, row.Attempt)
	require.Nil(t, row.EndedAt)
	require.Empty(t, row.Error)
	require.Equal(t, state.Queued, w.phase("r", "child"), "children of the lost attempt go on")
	require.EqualValues(t, 1, w.number(`SELECT count(*) FROM action_events WHERE phase = $1 AND error = 'boom'`, state.Failed))
	require.Contains(t, w.live.names(), "r/parent")
}

// Story R17: a late event moved an action out of a terminal phase: SUCCEEDED became FAILED, FAILED became RUNNING.
func TestTerminalPhasesAreFinal(t *testing.T) {
	w := newWriting(t)
	phases := []state.Phase{state.Succeeded, state.Failed, state.TimedOut, state.Aborted, state.Recovered}
	w.create("r")
	for _, end := range phases {
		name := "c" + common.ActionPhase(end).String()[13:15]
		w.child("r", "a0", name)
		w.report(to("r", name, 1, end))
		events := w.number(`SELECT count(*) FROM action_events`)
		for _, late := range append(phases, state.Queued, state.Running, state.Paused) {
			require.Equal(t, []store.Outcome{store.OutcomeTerminal}, w.report(to("r", name, 1, late)), "%d after %d", late, end)
		}
		require.NoError(t, w.Abort(t.Context(), store.Abort{Action: actionID("r", name), Reason: "late"}))
		require.Equal(t, end, w.phase("r", name))
		require.Equal(t, events, w.number(`SELECT count(*) FROM action_events`), "nothing is logged")
	}
}

// An executor that has lost both its knowledge of the end and the pod reports the attempt as lost and continues with
// another one; watchers have seen the end by then.
func TestNoAttemptFollowsAnAcknowledgedEnd(t *testing.T) {
	w := newWriting(t)
	w.create("r", "c")
	for attempt, end := range []state.Phase{state.Failed, state.TimedOut} {
		name := fmt.Sprint("c", attempt)
		w.child("r", "a0", name)
		failed := to("r", name, 1, end)
		failed.Error = []byte("boom")
		w.report(failed)
		require.Equal(t, []store.Outcome{store.OutcomeTerminal, store.OutcomeTerminal},
			w.report(to("r", name, 1, state.Failed), to("r", name, 2, state.Queued)))
		row := w.row("r", name)
		require.Equal(t, end, row.Phase)
		require.Equal(t, []byte("boom"), row.Error)
		require.NotNil(t, row.EndedAt)
		require.NotContains(t, w.live.names(), "r/"+name)
	}
}

func TestEndOfAParentAbortsItsUnfinishedChildren(t *testing.T) {
	w := newWriting(t)
	w.create("r", "parent", "bystander")
	w.child("r", "parent", "done")
	w.child("r", "parent", "open")
	w.child("r", "open", "grandchild")
	w.report(to("r", "done", 1, state.Succeeded))
	w.report(to("r", "parent", 1, state.Failed))

	require.Equal(t, state.Succeeded, w.phase("r", "done"))
	require.Equal(t, state.Aborted, w.phase("r", "open"))
	require.Equal(t, state.Aborted, w.phase("r", "grandchild"))
	require.Equal(t, state.Queued, w.phase("r", "bystander"))
	require.Equal(t, "parent action parent ended: FAILED", w.row("r", "open").AbortReason)
	require.NotNil(t, w.row("r", "grandchild").EndedAt)
	require.ElementsMatch(t, []string{"r/a0", "r/bystander"}, w.live.names())
	assertNoGaps(t, w)

	w.report(to("r", "a0", 1, state.Succeeded))
	require.Equal(t, state.Aborted, w.phase("r", "bystander"))
	require.Empty(t, w.live.names())
}

func TestNoRetryBelowAFinishedParent(t *testing.T) {
	w := newWriting(t)
	w.create("r", "parent")
	w.child("r", "parent", "child")
	w.report(to("r", "parent", 1, state.Failed), to("r", "child", 1, state.Failed), to("r", "child", 2, state.Queued))
	require.Equal(t, state.Aborted, w.phase("r", "child"))
	require.Empty(t, slices.DeleteFunc(w.live.names(), func(name string) bool { return name == "r/a0" }))
}

// Story R4: the database said ABORTED while the pod kept running, and finished runs became ABORTED after a laptop had slept.
func TestAbortKeepsFinishedActions(t *testing.T) {
	w := newWriting(t)
	w.create("r", "done", "failed", "open")
	w.child("r", "open", "grandchild")
	w.report(to("r", "done", 1, state.Succeeded), to("r", "failed", 1, state.Failed), to("r", "open", 1, state.Running))

	abort := store.Abort{Action: actionID("r", "a0"), Reason: "enough", By: []byte("someone")}
	require.NoError(t, w.Abort(t.Context(), abort))
	require.Equal(t, state.Succeeded, w.phase("r", "done"))
	require.Equal(t, state.Failed, w.phase("r", "failed"))
	for _, name := range []string{"a0", "open", "grandchild"} {
		row := w.row("r", name)
		require.Equal(t, state.Aborted, row.Phase, name)
		require.Equal(t, "enough", row.AbortReason, name)
		require.Equal(t, []byte("someone"), row.AbortedBy, name)
	}
	require.Empty(t, w.live.names())
	events := w.number(`SELECT count(*) FROM action_events`)
	require.NoError(t, w.Abort(t.Context(), abort), "a repeated abort is not an error")
	require.Equal(t, events, w.number(`SELECT count(*) FROM action_events`))

	err := w.Abort(t.Context(), store.Abort{Action: actionID("r", "none")})
	require.Equal(t, rpc.KindNotFound, rpc.KindOf(err))
}

func integer(n int64) *core.Literal {
	return &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Primitive{
		Primitive: &core.Primitive{Value: &core.Primitive_Integer{Integer: n}},
	}}}}
}

func TestSignal(t *testing.T) {
	w := newWriting(t)
	w.create("r", "task")
	condition := newChild("r", "a0", "c")
	condition.Action.ActionType = int16(workflow.ActionType_ACTION_TYPE_CONDITION)
	require.NoError(t, w.RecordAction(t.Context(), condition))
	require.Equal(t, state.Paused, w.phase("r", "c"))
	require.EqualValues(t, 1, w.number(`SELECT paused_count FROM actions WHERE name = 'a0'`))
	require.NotContains(t, w.live.names(), "r/c")

	signal := func(name string, value int64) rpc.Kind {
		err := w.Signal(t.Context(), store.Signal{Action: actionID("r", name), Info: &workflow.SignalInfo{Output: integer(value)}})
		if err == nil {
			return 255
		}
		return rpc.KindOf(err)
	}
	require.Equal(t, rpc.KindNotFound, signal("none", 1))
	require.Equal(t, rpc.KindFailedPrecondition, signal("task", 1))
	require.EqualValues(t, 255, signal("c", 1))
	require.EqualValues(t, 255, signal("c", 1), "the same value again")
	require.Equal(t, rpc.KindFailedPrecondition, signal("c", 2))
	require.Equal(t, state.Succeeded, w.phase("r", "c"))
	require.NotEmpty(t, w.row("r", "c").Signal)
	require.Zero(t, w.number(`SELECT paused_count FROM actions WHERE name = 'a0'`))
}

func TestTraceIsStoredAsItEnded(t *testing.T) {
	w := newWriting(t)
	w.create("r")
	start, end := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	trace := newChild("r", "a0", "trace")
	trace.Action.ActionType = int16(workflow.ActionType_ACTION_TYPE_TRACE)
	trace.Action.Phase, trace.Action.StartedAt, trace.Action.EndedAt = state.Failed, &start, &end
	trace.Action.OutputURI, trace.Action.Error = "/data/trace/outputs.pb", []byte("boom")
	require.NoError(t, w.RecordAction(t.Context(), trace))
	row := w.row("r", "trace")
	require.Equal(t, state.Failed, row.Phase)
	require.Equal(t, "/data/trace/outputs.pb", row.OutputURI)
	require.Equal(t, []byte("boom"), row.Error)
	require.False(t, row.CreatedAt.Before(w.row("r", "a0").CreatedAt), "not before its parent")
	require.True(t, row.EndedAt.Before(time.Now().Add(time.Minute)))
	require.NotContains(t, w.live.names(), "r/trace")
}
