package launch

import (
	"context"
	"slices"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/values/cachekey"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// rootCacheKey is the key under which the outputs of a root action may be cached; empty when the task does not want it, or when
// its inputs cannot be known. Children bring keys that their parent has computed, in the same way.
func (c *Creator) rootCacheKey(
	ctx context.Context, root *schema.Root, planned *plannedTask, request *workflow.CreateRunRequest, from startedBy, inputsHash string,
) (string, error) {
	template := planned.spec.GetTaskTemplate()
	if !template.GetMetadata().GetDiscoverable() {
		return "", nil
	}
	input, known, err := c.kickoffInput(ctx, template, request, from)
	if err != nil || !known {
		return "", err
	}
	if input != "" && !slices.Contains(template.GetMetadata().GetCacheIgnoreInputVars(), input) {
		if root.RunStartTime == nil {
			now := c.Planner.Clock.Now()
			root.RunStartTime = &now
		}
		inputsHash += "|runStartTime=" + root.RunStartTime.UTC().Format(time.RFC3339Nano)
	}
	return cachekey.Key(planned.id.GetName(), inputsHash, template.GetInterface(), template.GetMetadata().GetDiscoveryVersion()), nil
}

// kickoffContext is the entry of the inputs' context with which a task learns that one of its inputs is the start time of the
// run. That input has no value yet when the run is created.
const kickoffContext = "_u_kickoff_time_input_arg"

// kickoffInput is the input that is the start time of the run; empty when none is. It is not known of uploaded inputs that
// cannot be read.
func (c *Creator) kickoffInput(ctx context.Context, template *core.TaskTemplate, request *workflow.CreateRunRequest, from startedBy) (name string, known bool, err error) {
	inputs := request.GetInputs()
	// A rerun has uploaded the inputs of a triggered run. The hash that it sends says nothing of their context.
	if uri := request.GetOffloadedInputData().GetUri(); from.kickoff == "" && uri != "" && hasTime(template) {
		inputs, err = c.uploadedInputs(ctx, uri)
		if err != nil && rpc.KindOf(err) == rpc.KindInvalidArgument {
			return "", false, nil // the task fails for it, or they are too large to be read
		}
		if err != nil {
			return "", false, err
		}
	}
	return kickoffOf(inputs, from.kickoff), true, nil
}

func kickoffOf(inputs *task.Inputs, otherwise string) string {
	for _, entry := range inputs.GetContext() {
		if entry.GetKey() == kickoffContext {
			return entry.GetValue()
		}
	}
	return otherwise
}

// hasTime reports whether a task has an input that can be the start time of a run: a datetime, or one among others.
func hasTime(template *core.TaskTemplate) bool {
	return slices.ContainsFunc(template.GetInterface().GetInputs().GetVariables(), func(entry *core.VariableEntry) bool {
		t := entry.GetValue().GetType()
		return t.GetSimple() == core.SimpleType_DATETIME || t.GetUnionType() != nil
	})
}
