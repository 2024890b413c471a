package state_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/internal/proptest"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

func positions() *rapid.Generator[state.Position] {
	return rapid.Custom(func(t *rapid.T) state.Position {
		return state.Position{
			Attempt: rapid.Int32Range(1, 4).Draw(t, "attempt"),
			Phase:   rapid.Int16Range(0, 12).Draw(t, "phase"),
			Version: rapid.Int32Range(0, 3).Draw(t, "version"),
		}
	})
}

// replay applies observations and returns every position that the action took.
func replay(start state.Position, observed []state.Position) []state.Position {
	taken := []state.Position{start}
	for _, o := range observed {
		if state.Next(taken[len(taken)-1], o) == state.Advance {
			taken = append(taken, o)
		}
	}
	return taken
}

var start = state.Position{Attempt: 1, Phase: state.Queued}

func TestEveryPhaseOfTheContractIsKnown(t *testing.T) {
	for number := range common.ActionPhase_name {
		require.Equal(t, number != 0, state.Known(state.Phase(number)), "phase %d", number)
	}
}

func TestEndsAbsorb(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		at, observed := positions().Draw(t, "at"), positions().Draw(t, "observed")
		if !state.Terminal(at.Phase) {
			t.Skip("not an end")
		}
		verdict := state.Next(at, observed)
		reopens := (at.Phase == state.Failed || at.Phase == state.TimedOut) && observed.Attempt > at.Attempt && state.Known(observed.Phase)
		if reopens != (verdict == state.Advance) {
			t.Fatalf("%v after %v gave %v", observed, at, verdict)
		}
		if !reopens && verdict != state.Ended {
			t.Fatalf("%v after the end %v gave %v", observed, at, verdict)
		}
	})
}

func TestPositionsOnlyAdvance(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		taken := replay(start, rapid.SliceOf(positions()).Draw(t, "observed"))
		for i := 1; i < len(taken); i++ {
			before, now := taken[i-1], taken[i]
			if now.Attempt < before.Attempt {
				t.Fatalf("attempt went back: %v -> %v", before, now)
			}
			if now.Attempt == before.Attempt && now.Phase == before.Phase && now.Version <= before.Version {
				t.Fatalf("version went back: %v -> %v", before, now)
			}
			if now == before {
				t.Fatalf("the same position twice: %v", now)
			}
		}
	})
}

func TestDuplicatesAndReplayChangeNothing(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		observed := rapid.SliceOf(positions()).Draw(t, "observed")
		once := replay(start, observed)

		var doubled []state.Position
		for _, o := range observed {
			doubled = append(doubled, o, o)
		}
		require.Equal(t, once, replay(start, doubled), "each observation twice")
		require.Equal(t, once, replay(start, append(append([]state.Position{}, observed...), once...)), "its own history again")
	})
}

func TestOneEndPerAttempt(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		ends := map[int32]int{}
		for _, p := range replay(start, rapid.SliceOf(positions()).Draw(t, "observed")) {
			if state.Terminal(p.Phase) {
				ends[p.Attempt]++
			}
		}
		for attempt, n := range ends {
			if n > 1 {
				t.Fatalf("attempt %d ended %d times", attempt, n)
			}
		}
	})
}

func TestTable(t *testing.T) {
	p := func(attempt int32, phase state.Phase, version int32) state.Position {
		return state.Position{Attempt: attempt, Phase: phase, Version: version}
	}
	for _, tc := range []struct {
		name         string
		at, observed state.Position
		want         state.Verdict
	}{
		{"starts", p(1, state.Queued, 0), p(1, state.Initializing, 0), state.Advance},
		{"skips phases", p(1, state.Queued, 0), p(1, state.Succeeded, 0), state.Advance},
		{"more of the same phase", p(1, state.Running, 0), p(1, state.Running, 1), state.Advance},
		{"an earlier phase with a greater version", p(1, state.Running, 0), p(1, state.Queued, 9), state.Stale},
		{"a condition is signalled", p(1, state.Paused, 0), p(1, state.Succeeded, 0), state.Advance},
		{"running does not follow paused", p(1, state.Paused, 0), p(1, state.Running, 0), state.Stale},
		{"next attempt of a live action", p(1, state.Running, 3), p(2, state.Queued, 0), state.Advance},
		{"late word of an earlier attempt", p(2, state.Queued, 0), p(1, state.Failed, 0), state.Stale},
		{"retry", p(1, state.Failed, 0), p(2, state.Queued, 0), state.Advance},
		{"retry after a timeout", p(1, state.TimedOut, 0), p(2, state.Queued, 0), state.Advance},
		{"failure of an attempt twice", p(1, state.Failed, 0), p(1, state.Failed, 1), state.Ended},
		{"success then failure", p(1, state.Succeeded, 0), p(1, state.Failed, 0), state.Ended},
		{"success then another attempt", p(1, state.Succeeded, 0), p(2, state.Queued, 0), state.Ended},
		{"abort then success", p(1, state.Aborted, 0), p(1, state.Succeeded, 0), state.Ended},
		{"abort then another attempt", p(1, state.Aborted, 0), p(2, state.Running, 0), state.Ended},
		{"unspecified phase", p(1, state.Queued, 0), p(2, 0, 0), state.Stale},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.Equal(t, tc.want, state.Next(tc.at, tc.observed))
		})
	}
}
