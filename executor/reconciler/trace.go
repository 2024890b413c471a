package reconciler

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/tracelink"
)

// traceAttempt records the span of an attempt whose end the runs service has acknowledged. The trace is where the process
// found it, too: among the variables of the task.
func (r *Reconciler) traceAttempt(task *v1.TaskAction, entry *entry, ended position) {
	if r.deps.Tracer == nil {
		return
	}
	span := tracelink.Span{
		Name: "run attempt", Start: task.CreationTimestamp.Time, End: r.deps.Clock.Now(),
		Attributes: append(tracelink.Action(task.Spec.Project, task.Spec.Domain, task.Spec.Run, task.Spec.Action),
			attribute.Int("flyte.attempt", int(ended.attempt)), attribute.String("flyte.task_type", task.Spec.TaskType)),
	}
	if entry.running.attempt == ended.attempt && !entry.running.started.IsZero() {
		span.Start = entry.running.started
	}
	for _, variable := range task.Spec.Env {
		if variable.Name == tracelink.Variable {
			span.Parent = variable.Value
		}
	}
	if ended.phase != common.ActionPhase_ACTION_PHASE_SUCCEEDED {
		span.Failure = strings.TrimPrefix(ended.phase.String(), "ACTION_PHASE_")
	}
	span.Record(r.deps.Tracer)
}
