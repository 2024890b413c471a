package launch

import (
	"slices"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/cachekey"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// rootCacheKey is the key under which the outputs of a root action may be cached; empty when the task does not want it.
// Children bring keys that their parent has computed, in the same way. kickoff is the result of kickoffTime.
func rootCacheKey(planned *plannedTask, inputsHash, kickoff string) string {
	template := planned.spec.GetTaskTemplate()
	if !template.GetMetadata().GetDiscoverable() {
		return ""
	}
	return cachekey.Key(planned.id.GetName(), inputsHash+kickoff, template.GetInterface(), template.GetMetadata().GetDiscoveryVersion())
}

// kickoffContext is the entry of the inputs' context with which a task learns that one of its inputs is the start time of the
// run. That input has no value yet when the run is created.
const kickoffContext = "_u_kickoff_time_input_arg"

// kickoffTime is what the start time of a run adds to the hash of its inputs; empty when no input is that time, or the
// cache ignores that input.
func (c *Creator) kickoffTime(root *store.Root, planned *plannedTask, request *workflow.CreateRunRequest, from startedBy) string {
	input := from.kickoff
	for _, entry := range request.GetInputs().GetContext() {
		if entry.GetKey() == kickoffContext {
			input = entry.GetValue()
		}
	}
	if input == "" || slices.Contains(planned.spec.GetTaskTemplate().GetMetadata().GetCacheIgnoreInputVars(), input) {
		return ""
	}
	if root.RunStartTime == nil {
		now := c.Planner.Clock.Now()
		root.RunStartTime = &now
	}
	return "|runStartTime=" + root.RunStartTime.UTC().Format(time.RFC3339Nano)
}
