package state

import (
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/phase"
)

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

// ranks orders the phases within one attempt. All terminal phases have the same rank: none of them follows another.
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

// Known reports whether the machine has the phase. It does not have the unspecified phase, nor numbers that a later
// version of the contract may bring.
func Known(p Phase) bool { return ranks[p] != 0 }

// Terminal reports whether nothing follows the phase within its attempt.
func Terminal(p Phase) bool { return phase.Terminal(common.ActionPhase(p)) }

// Retryable reports whether another attempt may follow the terminal phase: FAILED and TIMED_OUT.
func Retryable(p Phase) bool { return p == Failed || p == TimedOut }

// Name is the name of a phase without the prefix of the contract, such as RUNNING.
func Name(p Phase) string { return phase.Name(common.ActionPhase(p)) }
