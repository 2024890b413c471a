// Package state is the state machine of actions: Recorded is how an action begins, Next and NextTrace are how its phase
// changes. The package is pure. runs/store can change a phase only with a Verdict, and only this package makes one, so
// no write goes around the machine. docs/state-machines.md draws it.
package state

// Position is a place in the life of an action. Attempt counts from 1; Version counts the observations of one phase.
type Position struct {
	Attempt int32
	Phase   Phase
	Version int32
}

// Report numbers the reports that one transaction carries, from 1. A report is everything that one observer says at once.
// Two of them stay apart when they are carried by the same call: an earlier and a later TaskAction of one action may both
// report. Committed, the zero value, is neither.
type Report int

// Committed is the EndedIn of a terminal phase that is in the database, where anyone may have seen it.
const Committed Report = 0

// Standing is the position of an action within a transaction.
type Standing struct {
	Position
	// EndedIn is the report of this transaction that brought the terminal phase, or Committed. It means nothing while
	// the phase is not terminal.
	EndedIn Report
}

// Outcome is the effect of an observation.
type Outcome uint8

// The outcomes.
const (
	// Stale: the same or a later position of a live action is known, or the observed phase is not known.
	Stale Outcome = iota
	// Advance: the action moves to the observed position.
	Advance
	// Ended: the action is in a terminal phase, and this observation does not start another attempt.
	Ended
)

// Verdict is the judgement of one observation. Only this package makes verdicts that advance; the zero value is Stale.
type Verdict struct {
	outcome  Outcome
	from, to Standing
}

// Outcome is the effect of the observation.
func (v Verdict) Outcome() Outcome { return v.outcome }

// Apply returns where an action stands after the verdict. It returns at and false unless the verdict is Advance and was
// made for an action that stands at this place: a verdict is of no use for another action or at a later time.
func (v Verdict) Apply(at Standing) (Standing, bool) {
	if v.outcome != Advance || v.from != at {
		return at, false
	}
	return v.to, true
}

// Next judges what a report observed of an action that stands at a place.
//
// A live action advances to any later position, in the order of attempt, rank of the phase, and version. FAILED and
// TIMED_OUT are left for a later attempt only by the report that brought them: it says in one breath that an attempt was
// lost and that the next one begins, and only the latter is ever committed. A committed terminal phase is final, for
// someone may have acted on it. Observations outside of any report pass Committed and never leave a terminal phase.
func Next(at Standing, observed Position, in Report) Verdict {
	if Terminal(at.Phase) {
		uncommitted := in != Committed && at.EndedIn == in
		if uncommitted && Retryable(at.Phase) && Known(observed.Phase) && observed.Attempt > at.Attempt {
			return advance(at, observed, in)
		}
		return Verdict{outcome: Ended}
	}
	if !Known(observed.Phase) || !after(at.Position, observed) {
		return Verdict{outcome: Stale}
	}
	return advance(at, observed, in)
}

// NextTracked is Next for an action that another process runs and only reports here. That process says that an attempt
// failed before it knows whether another one follows, so a later attempt leaves FAILED and TIMED_OUT also when they are
// committed. All else is final, as anywhere.
func NextTracked(at Standing, observed Position, in Report) Verdict {
	if Retryable(at.Phase) && Known(observed.Phase) && observed.Attempt > at.Attempt {
		return advance(at, observed, in)
	}
	return Next(at, observed, in)
}

// NextTrace judges a result of a trace that has one. A trace is recorded with its result and has no transitions. When
// it raised, and a later attempt of its parent calls the function again, the new result is another attempt of the trace,
// and the first one stays in the log. The caller makes sure that the call is a later one. No other result is replaced.
func NextTrace(at Standing, result Phase, in Report) Verdict {
	if !Retryable(at.Phase) || !Terminal(result) {
		return Verdict{outcome: Ended}
	}
	return advance(at, Position{Attempt: at.Attempt + 1, Phase: result}, in)
}

func advance(at Standing, to Position, in Report) Verdict {
	next := Standing{Position: to}
	if Terminal(to.Phase) {
		next.EndedIn = in
	}
	return Verdict{outcome: Advance, from: at, to: next}
}

// after reports whether observed is later in the order (attempt, rank, version).
func after(at, observed Position) bool {
	if observed.Attempt != at.Attempt {
		return observed.Attempt > at.Attempt
	}
	if a, o := ranks[at.Phase], ranks[observed.Phase]; a != o {
		return o > a
	}
	return observed.Version > at.Version
}
