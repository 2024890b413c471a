// Package phase has what every service knows of the phases of actions: their names and which of them are an end. What may
// follow what is the state machine's, in runs/state.
package phase

import (
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
)

const prefix = "ACTION_PHASE_"

// Name is the name of a phase as people see it, such as RUNNING. A phase of a later version of the contract is its number.
func Name(p common.ActionPhase) string { return strings.TrimPrefix(p.String(), prefix) }

// Named returns the phase of a name, with or without the prefix of the contract, in upper case.
func Named(name string) (p common.ActionPhase, known bool) {
	number, known := common.ActionPhase_value[prefix+strings.TrimPrefix(name, prefix)]
	return common.ActionPhase(number), known
}

// Terminal reports whether an attempt ends with the phase. An attempt that FAILED or TIMED_OUT may be followed by another.
func Terminal(p common.ActionPhase) bool {
	switch p {
	case common.ActionPhase_ACTION_PHASE_SUCCEEDED, common.ActionPhase_ACTION_PHASE_FAILED, common.ActionPhase_ACTION_PHASE_ABORTED,
		common.ActionPhase_ACTION_PHASE_TIMED_OUT, common.ActionPhase_ACTION_PHASE_RECOVERED:
		return true
	default:
		return false
	}
}
