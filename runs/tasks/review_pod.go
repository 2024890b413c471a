package tasks

import (
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Pods judges the pods that tasks ask for.
type Pods interface {
	// Review returns the field of what the policy of this installation does not allow, below a task spec, and the reason in
	// words; both are empty for an allowed task.
	Review(template *core.TaskTemplate, run *task.RunSpec) (field, words string)
}

// reviewPod refuses a task that could never run for what it asks of its pod. Service accounts are judged when it runs, since
// settings may name them then.
func (h *Handler) reviewPod(spec *task.TaskSpec) error {
	if h.pods == nil {
		return nil
	}
	if field, words := h.pods.Review(spec.GetTaskTemplate(), nil); words != "" {
		return rpc.InvalidArgument("spec."+field, "%s", words)
	}
	return nil
}
