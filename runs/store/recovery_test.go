package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

func newTrace(run, parent, name string, phase state.Phase, began time.Time) store.NewAction {
	ended := began.Add(time.Millisecond)
	trace := newChild(run, parent, name)
	a := &trace.Action
	a.ActionType, a.Phase, a.StartedAt, a.EndedAt = 2, phase, &began, &ended
	if phase == state.Succeeded {
		a.OutputURI = "/data/" + name + "/outputs.pb"
	} else {
		a.Error = []byte("error of " + began.Format(time.RFC3339Nano))
	}
	return trace
}

func TestTraceThatRanAgainIsAnotherAttempt(t *testing.T) {
	w := newWriting(t)
	w.create("r")
	record := func(phase state.Phase) store.NewAction {
		trace := newTrace("r", "a0", "step", phase, time.Now().UTC())
		require.NoError(t, w.RecordAction(t.Context(), trace))
		return trace
	}
	first := record(state.Failed)
	for range 3 {
		require.NoError(t, w.RecordAction(t.Context(), first))
	}
	require.EqualValues(t, 2, w.number(`SELECT count(*) FROM action_events`), "a repeated request is the same trace")
	require.EqualValues(t, 1, w.row("r", "step").Attempt)
	require.Equal(t, first.Action.Error, w.row("r", "step").Error)

	record(state.Failed)
	good := record(state.Succeeded)
	for range 3 {
		require.NoError(t, w.RecordAction(t.Context(), good))
	}
	require.NoError(t, w.RecordAction(t.Context(), first))
	record(state.Failed) // a success is final
	row := w.row("r", "step")
	require.EqualValues(t, 3, row.Attempt)
	require.Equal(t, state.Succeeded, row.Phase)
	require.Equal(t, "/data/step/outputs.pb", row.OutputURI)
	require.Nil(t, row.Error)
	require.EqualValues(t, 4, w.number(`SELECT count(*) FROM action_events`))

	require.NoError(t, w.RecordAction(t.Context(), newTrace("r", "a0", "other", state.Failed, time.Now().UTC())))
	w.report(to("r", "a0", 1, state.Succeeded))
	err := w.RecordAction(t.Context(), newTrace("r", "a0", "other", state.Succeeded, time.Now().UTC()))
	require.Equal(t, rpc.KindAborted, rpc.KindOf(err), err)
	require.Equal(t, state.Failed, w.phase("r", "other"))
}

// Story R23: every parent that reconnected made the API server list its whole run, and still missed its traces.
func TestRecoveredTracesComeWithTheirParent(t *testing.T) {
	w := newWriting(t)
	w.create("r", "taken")
	child := newChild("r", "a0", "c")
	for _, name := range []string{"taken", "t1", "t2"} {
		child.Traces = append(child.Traces, store.RecoveredTrace{
			Result: schema.Result{Name: name, TaskName: "step", OutputURI: "/data/" + name + "/outputs.pb"}, From: []byte("origin"),
		})
	}
	for range 2 {
		require.NoError(t, w.RecordAction(t.Context(), child))
	}
	require.Equal(t, state.Queued, w.phase("r", "taken"), "an existing action of that name stays as it is")
	for _, name := range []string{"t1", "t2"} {
		row := w.row("r", name)
		require.Equal(t, state.Recovered, row.Phase)
		require.Equal(t, "c", *row.ParentName)
		require.Equal(t, []byte("origin"), row.RecoveredFrom)
		require.NotNil(t, row.EndedAt)
	}
	require.EqualValues(t, 5, w.number(`SELECT count(*) FROM actions`))
	require.EqualValues(t, 5, w.number(`SELECT last_seq FROM actions WHERE parent_name IS NULL`))
}

// TestRecoveryReadsOnlyItsResults looks for results in a wide run without statistics.
func TestRecoveryReadsOnlyItsResults(t *testing.T) {
	pool := pgtest.New(t, store.Migrations())
	w := writingOn(t, pool)
	w.create("source")
	const children, looks = 1500, 200
	forEach(50, children, func(i int) { w.child("source", "a0", fmt.Sprint("c", i)) })
	w.child("source", "c7", "deep")
	runID := w.row("source", "a0").RunID
	require.NoError(t, w.Stop(context.WithoutCancel(t.Context())))
	readers := storetest.Counted(t, pool)
	before := storetest.TuplesRead(t, pool)
	reader := lists.NewReader(readers)
	for i := range looks {
		results, err := reader.Results(t.Context(), []int64{runID, runID + 1_000_000}, fmt.Sprint("c", i))
		require.NoError(t, err)
		require.Len(t, results, 1)
	}
	sources, err := reader.RecoverySources(t.Context(), actionID("source", "a0").Run, 1<<60)
	require.NoError(t, err)
	require.Len(t, sources, 1)
	again, err := reader.WithAncestors(t.Context(), []int64{runID}, []string{"deep", "unknown"})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"deep", "c7", "a0"}, again)
	storetest.CloseAndCount(t, readers, pool)
	perLook := float64(storetest.TuplesRead(t, pool)-before) / looks
	t.Logf("%.1f index entries read for each look", perLook)
	require.Less(t, perLook, 5.0)
}
