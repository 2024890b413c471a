package reconciler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// TestStatusCountsFromTheStage: an action that waited for long and runs for a moment costs no write of its status.
func TestStatusCountsFromTheStage(t *testing.T) {
	r := deciding(t, 3)
	clk := r.deps.Clock.(*clock.Fake)
	e := &entry{attempt: &plugin.Attempt{Number: 1}}
	waiting := plugin.State{Phase: common.ActionPhase_ACTION_PHASE_QUEUED, Object: "pod"}
	running := plugin.State{Phase: common.ActionPhase_ACTION_PHASE_RUNNING, Object: "pod"}
	delay := r.config.StatusDelay

	require.Equal(t, waitDelays*delay, r.statusDue(e, waiting))
	clk.Step(5 * delay)
	require.Equal(t, 5*delay, r.statusDue(e, waiting))
	require.Equal(t, delay, r.statusDue(e, running), "it has only begun to run")
	r.noteStatus(e, e.attempt, running)
	require.False(t, e.dirty)

	clk.Step(delay / 2)
	require.Equal(t, delay/2, r.statusDue(e, running), "seeing it again does not start the time anew")
	clk.Step(delay)
	r.noteStatus(e, e.attempt, running)
	require.True(t, e.dirty)
	require.Equal(t, "RUNNING", e.status.Phase)
	require.Zero(t, r.statusDue(e, running), "it is complete")

	again := plugin.State{Phase: common.ActionPhase_ACTION_PHASE_QUEUED, Object: "another"}
	require.Equal(t, waitDelays*delay, r.statusDue(e, again), "another attempt waits anew")
	clk.Step(waitDelays*delay + time.Second)
	require.Zero(t, r.statusDue(e, again))
}
