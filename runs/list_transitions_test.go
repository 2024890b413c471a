package runs_test

import (
	"fmt"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

// numbers are those of a run's actions, by name.
func (c *writeFixture) numbers(run string) map[string]uint32 {
	c.t.Helper()
	rows, err := c.pool.Query(c.t.Context(), `SELECT name, (id - run_id)::int FROM actions WHERE run_name = $1`, run)
	require.NoError(c.t, err)
	defer rows.Close()
	out := map[string]uint32{}
	for rows.Next() {
		var name string
		var number uint32
		require.NoError(c.t, rows.Scan(&name, &number))
		out[name] = number
	}
	require.NoError(c.t, rows.Err())
	return out
}

// transitions are attempt and phase of each change of an action; times must not go back.
func (c *writeFixture) transitions(run string, numbers ...uint32) map[uint32][]string {
	c.t.Helper()
	response, err := c.insight.ListTransitions(c.t.Context(), &insightv1.ListTransitionsRequest{RunId: runID(run), Numbers: numbers})
	require.NoError(c.t, err)
	out, last := map[uint32][]string{}, map[uint32]uint32{}
	for _, change := range response.GetTransitions() {
		n := change.GetNumber()
		require.GreaterOrEqual(c.t, change.GetAt(), last[n])
		last[n] = change.GetAt()
		out[n] = append(out[n], fmt.Sprintf("%d/%d", change.GetAttempt(), change.GetPhase()))
	}
	return out
}

func TestListTransitions(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r1"))
	c.child("r1", "a0", "x")
	c.child("r1", "a0", "y")
	c.report(transition("r1", "x", 1, running))
	again := transition("r1", "x", 1, running) // has more detail, but the same phase
	again.Event.Version = 1
	c.report(again)
	c.report(transition("r1", "x", 2, queued), transition("r1", "x", 2, running), transition("r1", "x", 2, succeeded))
	n := c.numbers("r1")
	all := c.transitions("r1", n["x"], n["y"], n["x"], 4_000_000)
	require.Equal(t, []string{"1/1"}, all[n["y"]])
	require.NotContains(t, all, uint32(4_000_000))

	var want []string // as the details show it
	for _, attempt := range c.details("r1", "x").GetAttempts() {
		for _, p := range attempt.GetPhaseTransitions() {
			want = append(want, fmt.Sprintf("%d/%d", attempt.GetAttempt(), p.GetPhase()))
		}
	}
	require.Greater(t, len(want), 3)
	require.Equal(t, want, all[n["x"]])
}

func TestListTransitionsOfATrace(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r1"))
	require.Zero(t, c.record(&workflow.RecordActionRequest{
		ActionId: actionID("r1", "traced"), Parent: "a0",
		Spec: &workflow.RecordActionRequest_Trace{Trace: &workflow.TraceAction{
			Name: "traced", Phase: succeeded, Spec: &task.TraceSpec{},
		}},
	}))
	_, err := c.pool.Exec(t.Context(), `UPDATE actions SET ended_at = ended_at + interval '5 seconds' WHERE name = 'traced'`)
	require.NoError(t, err)
	n := c.numbers("r1")["traced"]
	require.Equal(t, []string{"1/4", "1/5"}, c.transitions("r1", n)[n], "it ran until it ended")
}

func TestListTransitionsRefuses(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r1"))
	c.create(namedRun("r2"))
	c.child("r2", "a0", "x")
	ask := func(run string, numbers ...uint32) error {
		_, err := c.insight.ListTransitions(t.Context(), &insightv1.ListTransitionsRequest{RunId: runID(run), Numbers: numbers})
		return err
	}
	refused(t, ask("r1"), connect.CodeInvalidArgument, "numbers")
	refused(t, ask("r1", make([]uint32, 501)...), connect.CodeInvalidArgument, "numbers")
	refused(t, ask("none", 1), connect.CodeNotFound, "none")
	_, err := c.insight.ListTransitions(t.Context(), &insightv1.ListTransitionsRequest{Numbers: []uint32{0}})
	refused(t, err, connect.CodeInvalidArgument, "run_id")
	var between uint32 // where an action of the other run lies
	require.NoError(t, c.pool.QueryRow(t.Context(), `SELECT max(id) - (SELECT id FROM actions WHERE run_name = 'r1') FROM actions`).Scan(&between))
	require.Empty(t, c.transitions("r1", between), "an action of another run")
}

func executionError(code, message string) *core.ExecutionError {
	return &core.ExecutionError{Code: code, Message: message, Kind: core.ExecutionError_USER}
}
