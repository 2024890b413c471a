package runs_test

import (
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/backlog"
)

// While as many runs of a project wait as may, CreateRun refuses more, and says when to try again. Runs that exist are answered.
func TestCreateRunIsRefusedWhileTooManyRunsWait(t *testing.T) {
	limited := func(c *runs.Config) { c.Backlog = backlog.Config{WaitingRuns: 2} }
	c := newWriteFixture(t, limited)
	c.create(namedRun("one"))
	c.create(namedRun("two"))
	_, err := c.runs.CreateRun(t.Context(), namedRun("three"))
	require.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "project flytesnacks has 2 runs that wait to start, which is the limit (runs.backlog.waitingRuns)")
	c.create(namedRun("one"))
	c.child("one", "a0", "c1") // no limit on new runs holds back the work of those that exist

	c.report(transition("one", "a0", 1, common.ActionPhase_ACTION_PHASE_RUNNING))
	other := writeFixtureOn(t, c.pool, limited) // another process, which counts again
	other.create(namedRun("three"))
	_, err = other.runs.CreateRun(t.Context(), namedRun("four"))
	require.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err), "%v", err)
}

func TestCreateRunIsRefusedWhileTooManyActionsAreUnfinished(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("one"))
	c.child("one", "a0", "c1")
	c.child("one", "a0", "c2")
	limited := writeFixtureOn(t, c.pool, func(c *runs.Config) { c.Backlog = backlog.Config{Actions: 3} })
	_, err := limited.runs.CreateRun(t.Context(), namedRun("two"))
	require.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "project flytesnacks has 3 unfinished actions, which is the limit (runs.backlog.actions)")
}
