package state

import "github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"

// Recorded is the position of an action when it is recorded. A task waits in its queue and a condition for its signal,
// unless result is RECOVERED: another run has the result. A trace is recorded with its result.
func Recorded(kind workflow.ActionType, result Phase) Position {
	at := Position{Attempt: 1, Phase: result}
	switch {
	case kind == workflow.ActionType_ACTION_TYPE_TRACE || result == Recovered:
	case kind == workflow.ActionType_ACTION_TYPE_CONDITION:
		at.Phase = Paused
	default:
		at.Phase = Queued
	}
	return at
}
