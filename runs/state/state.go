// Package state is the state machine of actions: which observation advances which action. It is pure; runs/store
// asks it for every write, and nothing else decides. The machine is drawn in docs/state-machines.md.
package state

import "github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"

// Phase is the number of a common.ActionPhase, as rows keep it.
type Phase = int16

// The phases.
const (
	Queued              = Phase(common.ActionPhase_ACTION_PHASE_QUEUED)
	WaitingForResources = Phase(common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES)
	Initializing        = Phase(common.ActionPhase_ACTION_PHASE_INITIALIZING)
	Running             = Phase(common.ActionPhase_ACTION_PHASE_RUNNING)
	Succeeded           = Phase(common.ActionPhase_ACTION_PHASE_SUCCEEDED)
	Failed              = Phase(common.ActionPhase_ACTION_PHASE_FAILED)
	Aborted             = Phase(common.ActionPhase_ACTION_PHASE_ABORTED)
	TimedOut            = Phase(common.ActionPhase_ACTION_PHASE_TIMED_OUT)
	Paused              = Phase(common.ActionPhase_ACTION_PHASE_PAUSED)
	Recovered           = Phase(common.ActionPhase_ACTION_PHASE_RECOVERED)
)

// ranks orders the phases within one attempt. All ends have the same rank: none of them follows another.
var ranks = map[Phase]int{
	Queued:              1,
	WaitingForResources: 2,
	Initializing:        3,
	Running:             4,
	Paused:              5,
	Succeeded:           6,
	Failed:              6,
	Aborted:             6,
	TimedOut:            6,
	Recovered:           6,
}

// Known tells whether a phase is one of the machine. The unspecified phase and numbers from the future are not.
func Known(p Phase) bool { return ranks[p] != 0 }

// Terminal tells whether a phase is an end.
func Terminal(p Phase) bool { return ranks[p] == ranks[Succeeded] }

// Reopens tells whether a further attempt may follow this end.
func Reopens(p Phase) bool { return p == Failed || p == TimedOut }

// Position is where an action stands. Attempt counts from 1; version counts the observations of one phase.
type Position struct {
	Attempt int32
	Phase   Phase
	Version int32
}

// Verdict says what becomes of an observation.
type Verdict uint8

// The verdicts.
const (
	// Stale: the same or a later position of a live action is known already, or the phase is not known.
	Stale Verdict = iota
	// Advance: the action moves to the observed position.
	Advance
	// Ended: the action is at its end, and this observation does not reopen it.
	Ended
)

// Next judges an observation of an action that stands at a position.
func Next(at, observed Position) Verdict {
	if Terminal(at.Phase) {
		if Reopens(at.Phase) && Known(observed.Phase) && observed.Attempt > at.Attempt {
			return Advance
		}
		return Ended
	}
	if !Known(observed.Phase) || !after(at, observed) {
		return Stale
	}
	return Advance
}

// after tells whether observed is later in the order (attempt, rank, version).
func after(at, observed Position) bool {
	if observed.Attempt != at.Attempt {
		return observed.Attempt > at.Attempt
	}
	if a, o := ranks[at.Phase], ranks[observed.Phase]; a != o {
		return o > a
	}
	return observed.Version > at.Version
}
