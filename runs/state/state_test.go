package state_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/internal/test/proptest"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
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

// report is what one call says; transaction is the reports of one commit.
type (
	report      []state.Position
	transaction []report
)

func transactions() *rapid.Generator[[]transaction] {
	reports := rapid.Custom(func(t *rapid.T) report { return rapid.SliceOfN(positions(), 0, 4).Draw(t, "observed") })
	return rapid.SliceOf(rapid.Custom(func(t *rapid.T) transaction { return rapid.SliceOfN(reports, 0, 3).Draw(t, "reports") }))
}

// apply returns every standing that an action takes in a transaction.
func (tx transaction) apply(at state.Position) []state.Standing {
	taken := []state.Standing{{Position: at}} // read from the database: what has ended is committed
	for i, observed := range tx {
		for _, o := range observed {
			last := taken[len(taken)-1]
			if next, ok := state.Next(last, o, state.Report(i+1)).Apply(last); ok {
				taken = append(taken, next)
			}
		}
	}
	return taken
}

// replay applies transactions and returns every position that the action took.
func replay(start state.Position, transactions []transaction) []state.Position {
	taken := []state.Position{start}
	for _, tx := range transactions {
		for _, at := range tx.apply(taken[len(taken)-1])[1:] {
			taken = append(taken, at.Position)
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

func TestTerminalPhasesAbsorb(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		terminal := positions().Filter(func(p state.Position) bool { return state.Terminal(p.Phase) })
		at := state.Standing{Position: terminal.Draw(t, "at"), EndedIn: state.Report(rapid.IntRange(0, 2).Draw(t, "ended in"))}
		observed, in := positions().Draw(t, "observed"), state.Report(rapid.IntRange(0, 2).Draw(t, "in"))
		verdict := state.Next(at, observed, in).Outcome()
		sameReport := in != state.Committed && at.EndedIn == in
		retried := sameReport && (at.Phase == state.Failed || at.Phase == state.TimedOut) && observed.Attempt > at.Attempt && state.Known(observed.Phase)
		if retried != (verdict == state.Advance) {
			t.Fatalf("%v after %v gave %v", observed, at, verdict)
		}
		if !retried && verdict != state.Ended {
			t.Fatalf("%v after the terminal %v gave %v", observed, at, verdict)
		}
	})
}

func TestCommittedTerminalPhasesAreFinal(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		at, final := start, false
		for _, tx := range transactions().Draw(t, "transactions") {
			taken := tx.apply(at)
			if final && len(taken) > 1 {
				t.Fatalf("%v was committed, then left for %v", at, taken[1])
			}
			at = taken[len(taken)-1].Position
			final = state.Terminal(at.Phase)
		}
	})
}

func TestOnlyTheReportOfAFailureRetriesIt(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		for _, tx := range transactions().Draw(t, "transactions") {
			var endedBy int
			at := state.Standing{Position: start}
			for i, observed := range tx {
				for _, o := range observed {
					next, ok := state.Next(at, o, state.Report(i+1)).Apply(at)
					if ok && state.Terminal(at.Phase) && endedBy != i {
						t.Fatalf("report %d ended the action at %v and report %d went on to %v", endedBy, at, i, next)
					}
					if ok && state.Terminal(next.Phase) {
						endedBy = i
					}
					at = next
				}
			}
		}
	})
}

func TestTrackedActionsLeaveOnlyFailuresForALaterAttempt(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		at := state.Standing{Position: positions().Draw(t, "at"), EndedIn: state.Report(rapid.IntRange(0, 2).Draw(t, "ended in"))}
		observed, in := positions().Draw(t, "observed"), state.Report(rapid.IntRange(0, 2).Draw(t, "in"))
		verdict := state.NextTracked(at, observed, in)
		if state.Retryable(at.Phase) && state.Known(observed.Phase) && observed.Attempt > at.Attempt {
			next, ok := verdict.Apply(at)
			if !ok || next.Position != observed {
				t.Fatalf("%v after %v gave %v", observed, at, next)
			}
			return
		}
		if verdict != state.Next(at, observed, in) {
			t.Fatalf("%v after %v is judged otherwise than by Next", observed, at)
		}
	})
}

func TestVerdictsHoldOnlyWhereTheyWereMade(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		at := state.Standing{Position: positions().Draw(t, "at")}
		other := state.Standing{Position: positions().Draw(t, "other")}
		verdict := state.Next(at, positions().Draw(t, "observed"), 1)
		if next, ok := verdict.Apply(other); (ok && at != other) || (!ok && next != other) {
			t.Fatalf("a verdict on %v moved %v to %v", at, other, next)
		}
		if _, ok := verdict.Apply(at); ok != (verdict.Outcome() == state.Advance) {
			t.Fatalf("outcome %v, but applied: %v", verdict.Outcome(), ok)
		}
	})
	_, moved := state.Verdict{}.Apply(state.Standing{})
	require.False(t, moved, "the zero verdict moves nothing")
}

func TestOnlyRaisedTracesHaveAnotherResult(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		at := state.Standing{Position: positions().Draw(t, "at")}
		result := rapid.Int16Range(0, 12).Draw(t, "result")
		next, ok := state.NextTrace(at, result, 1).Apply(at)
		if raised := at.Phase == state.Failed || at.Phase == state.TimedOut; ok != (raised && state.Terminal(result)) {
			t.Fatalf("%v after %v: %v", result, at, ok)
		}
		if ok && next.Position != (state.Position{Attempt: at.Attempt + 1, Phase: result}) {
			t.Fatalf("%v after %v led to %v", result, at, next)
		}
	})
}

func TestRecordedPositions(t *testing.T) {
	task, trace, condition := workflow.ActionType_ACTION_TYPE_TASK, workflow.ActionType_ACTION_TYPE_TRACE, workflow.ActionType_ACTION_TYPE_CONDITION
	require.Equal(t, state.Position{Attempt: 1, Phase: state.Queued}, state.Recorded(task, 0))
	require.Equal(t, state.Position{Attempt: 1, Phase: state.Queued}, state.Recorded(task, state.Succeeded), "only another run has results of tasks")
	require.Equal(t, state.Position{Attempt: 1, Phase: state.Recovered}, state.Recorded(task, state.Recovered))
	require.Equal(t, state.Position{Attempt: 1, Phase: state.Paused}, state.Recorded(condition, 0))
	require.Equal(t, state.Position{Attempt: 1, Phase: state.Recovered}, state.Recorded(condition, state.Recovered))
	require.Equal(t, state.Position{Attempt: 1, Phase: state.Failed}, state.Recorded(trace, state.Failed))
}

func TestPositionsOnlyAdvance(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		taken := replay(start, transactions().Draw(t, "transactions"))
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
		observed := transactions().Draw(t, "transactions")
		once := replay(start, observed)

		var doubled, repeated []transaction
		for _, tx := range observed {
			var twice transaction
			for _, r := range tx {
				var both report
				for _, o := range r {
					both = append(both, o, o)
				}
				twice = append(twice, both)
			}
			doubled = append(doubled, twice)
			repeated = append(repeated, tx, tx)
		}
		require.Equal(t, once, replay(start, doubled), "each observation twice")
		require.Equal(t, once, replay(start, repeated), "each transaction twice")
		require.Equal(t, once, replay(start, append(observed, transaction{once})), "its own history again")
	})
}

func TestOneEndPerAttempt(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		ends := map[int32]int{}
		for _, p := range replay(start, transactions().Draw(t, "transactions")) {
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

func TestNext(t *testing.T) {
	p := func(attempt int32, phase state.Phase, version int32) state.Position {
		return state.Position{Attempt: attempt, Phase: phase, Version: version}
	}
	const earlier, same = 1, 2
	for _, tc := range []struct {
		name     string
		at       state.Position
		endedIn  state.Report
		observed state.Position
		want     state.Outcome
	}{
		{"starts", p(1, state.Queued, 0), 0, p(1, state.Initializing, 0), state.Advance},
		{"skips phases", p(1, state.Queued, 0), 0, p(1, state.Succeeded, 0), state.Advance},
		{"more of the same phase", p(1, state.Running, 0), 0, p(1, state.Running, 1), state.Advance},
		{"an earlier phase with a greater version", p(1, state.Running, 0), 0, p(1, state.Queued, 9), state.Stale},
		{"a condition is signalled", p(1, state.Paused, 0), 0, p(1, state.Succeeded, 0), state.Advance},
		{"running does not follow paused", p(1, state.Paused, 0), 0, p(1, state.Running, 0), state.Stale},
		{"next attempt of a live action", p(1, state.Running, 3), 0, p(2, state.Queued, 0), state.Advance},
		{"late report of an earlier attempt", p(2, state.Queued, 0), 0, p(1, state.Failed, 0), state.Stale},
		{"unspecified phase", p(1, state.Queued, 0), 0, p(2, 0, 0), state.Stale},
		{"retry in the report of the failure", p(1, state.Failed, 0), same, p(2, state.Queued, 0), state.Advance},
		{"retry in the report of the timeout", p(1, state.TimedOut, 0), same, p(2, state.Queued, 0), state.Advance},
		{"retry in another report of the transaction", p(1, state.Failed, 0), earlier, p(2, state.Queued, 0), state.Ended},
		{"retry after the commit", p(1, state.Failed, 0), state.Committed, p(2, state.Queued, 0), state.Ended},
		{"failure of an attempt twice", p(1, state.Failed, 0), same, p(1, state.Failed, 1), state.Ended},
		{"success then failure", p(1, state.Succeeded, 0), same, p(1, state.Failed, 0), state.Ended},
		{"success then another attempt", p(1, state.Succeeded, 0), same, p(2, state.Queued, 0), state.Ended},
		{"abort then success", p(1, state.Aborted, 0), same, p(1, state.Succeeded, 0), state.Ended},
		{"abort then another attempt", p(1, state.Aborted, 0), same, p(2, state.Running, 0), state.Ended},
	} {
		t.Run(tc.name, func(t *testing.T) {
			at := state.Standing{Position: tc.at, EndedIn: tc.endedIn}
			require.Equal(t, tc.want, state.Next(at, tc.observed, same).Outcome())
		})
	}
}
