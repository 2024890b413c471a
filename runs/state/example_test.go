package state_test

import (
	"fmt"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// An executor loses an attempt and reports the loss together with the next attempt. After the commit, the same report
// changes nothing.
func ExampleNext() {
	action := state.Standing{Position: state.Recorded(workflow.ActionType_ACTION_TYPE_TASK, 0)}
	observe := func(in state.Report, attempt int32, phase state.Phase) {
		verdict := state.Next(action, state.Position{Attempt: attempt, Phase: phase}, in)
		if next, ok := verdict.Apply(action); ok {
			action = next
			fmt.Println("attempt", action.Attempt, state.Name(action.Phase))
		} else {
			fmt.Println("ignored:", state.Name(phase))
		}
	}

	const report = state.Report(1)
	observe(report, 1, state.Running)
	observe(report, 1, state.Failed)
	observe(report, 2, state.Queued)
	observe(report, 2, state.Failed)

	action.EndedIn = state.Committed // the transaction ends here
	observe(report, 3, state.Queued)

	// Output:
	// attempt 1 RUNNING
	// attempt 1 FAILED
	// attempt 2 QUEUED
	// attempt 2 FAILED
	// ignored: QUEUED
}
