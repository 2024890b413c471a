package reconciler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/plugintest"
)

// TestWhatALongTaskCostsTheStore: none before it has run for Linger, then two requests for each look, at most every three times Linger.
func TestWhatALongTaskCostsTheStore(t *testing.T) {
	r := deciding(t, 0)
	store := &plugintest.Blobs{Objects: map[string][]byte{}}
	r.deps.Store = store
	fake, ok := r.deps.Clock.(*clock.Fake)
	require.True(t, ok)
	started, e, attempt := r.deps.Clock.Now(), &entry{}, &plugin.Attempt{Number: 1, Dir: "dir", Template: withBudget(0)}
	look := func() plugin.State {
		return r.withOutcome(t.Context(), e, attempt, plugin.State{Phase: common.ActionPhase_ACTION_PHASE_RUNNING, StartedAt: started})
	}
	state := look()
	fake.Step(state.Recheck - time.Second)
	look()
	require.Zero(t, store.Asked, "no request in the first five minutes")
	for range 1000 {
		fake.Step(look().Recheck)
	}
	hours := r.deps.Clock.Now().Sub(started).Hours()
	require.Greater(t, hours, 200.0)
	require.LessOrEqual(t, float64(store.Asked), 8*hours+10, "eight requests an hour")

	store.Objects["dir/outputs.pb"] = nil
	state = look()
	require.Equal(t, "OutcomeWritten", state.Reason)
	require.Equal(t, common.ActionPhase_ACTION_PHASE_RUNNING, state.Phase)
	require.Equal(t, r.config.Linger, state.Recheck)
	fake.Step(r.config.Linger)
	state = look()
	require.Equal(t, common.ActionPhase_ACTION_PHASE_SUCCEEDED, state.Phase)
	require.True(t, state.StillRuns)

	r.config.Linger = 0
	require.Equal(t, common.ActionPhase_ACTION_PHASE_RUNNING, look().Phase, "0 turns it off")
}
