package reconciler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// phases are the times at which the phases of one attempt are reported to begin.
func phases(t *testing.T, at time.Time, observations ...plugin.State) map[common.ActionPhase]time.Time {
	t.Helper()
	r, e := deciding(t, 0), &entry{}
	fake, ok := r.deps.Clock.(*clock.Fake)
	require.True(t, ok)
	fake.Step(at.Sub(fake.Now()))
	found := map[common.ActionPhase]time.Time{}
	for _, state := range observations {
		place := position{attempt: 1, phase: state.Phase}
		state = r.notAhead(state)
		when := state.Since
		switch state.Phase {
		case common.ActionPhase_ACTION_PHASE_RUNNING:
			when = state.StartedAt
		case common.ActionPhase_ACTION_PHASE_SUCCEEDED:
			if start := (position{attempt: 1, phase: common.ActionPhase_ACTION_PHASE_RUNNING}); e.begun.phase != start.phase {
				found[start.phase] = r.eventTime(e, start, state.StartedAt)
			}
			found[place.phase] = r.endTime(e, place, state)
			continue
		}
		if at := r.eventTime(e, place, when); found[place.phase].IsZero() {
			found[place.phase] = at
		}
	}
	return found
}

// On a busy machine, the executor saw most pods late: 20 of 28 attempts were "Running 0 ms" for work of 17 to 40 s.
func TestRunningIsAsLongAsTheProcessThoughItIsSeenLate(t *testing.T) {
	initializing, running, succeeded := common.ActionPhase_ACTION_PHASE_INITIALIZING, common.ActionPhase_ACTION_PHASE_RUNNING, common.ActionPhase_ACTION_PHASE_SUCCEEDED
	now := time.Unix(5000, 0)
	for name, wrong := range map[string]time.Duration{"right clock": 0, "clock of the node is behind": -time.Hour, "clock of the node is ahead": time.Hour} {
		t.Run(name, func(t *testing.T) {
			started := now.Add(-70*time.Second + wrong)
			ended := started.Add(40 * time.Second)
			starting := plugin.State{Phase: initializing, Since: now.Add(-80 * time.Second)}
			creating := plugin.State{Phase: initializing, Reason: "ContainerCreating"} // as of now: it is seen late
			got := phases(t, now, starting, creating, plugin.State{Phase: succeeded, StartedAt: started, EndedAt: ended})
			require.Equal(t, 40*time.Second, got[succeeded].Sub(got[running]))
			require.False(t, got[running].Before(got[initializing]))
			require.False(t, got[succeeded].After(now))

			if wrong <= 0 { // with a clock that is ahead, it starts when it is seen
				got = phases(t, now, starting, creating, plugin.State{Phase: running, StartedAt: started}, plugin.State{Phase: succeeded, StartedAt: started, EndedAt: ended})
				require.Equal(t, 40*time.Second, got[succeeded].Sub(got[running]))
			}
			if wrong == 0 {
				require.Equal(t, started.Add(time.Second).UTC(), got[running].UTC())
			}
		})
	}
}
