package reconciler

import (
	"go.opentelemetry.io/otel/attribute"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/phase"
	"github.com/flyte-binary/flyte-binary/internal/obs/tracelink"
)

// traceAttempt records the span of an attempt whose end the runs service has acknowledged.
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
	span.Parent = traceAbove(task)
	span.Self = r.traceOf(task, ended.attempt)
	if ended.phase != common.ActionPhase_ACTION_PHASE_SUCCEEDED {
		span.Failure = phase.Name(ended.phase)
	}
	span.Record(r.deps.Tracer)
}

// traceOf is the trace that the process of an attempt continues; empty if no one records one.
func (r *Reconciler) traceOf(task *v1.TaskAction, attempt int32) string {
	if r.deps.Tracer == nil {
		return ""
	}
	return tracelink.OfAttempt(traceAbove(task), task.Spec.Project, task.Spec.Domain, task.Spec.Run, task.Spec.Action, attempt)
}

// traceAbove is the trace of the call that created the run or, for a child, that of the attempt that enqueued it.
func traceAbove(task *v1.TaskAction) string {
	for _, variable := range task.Spec.Env {
		if variable.Name == tracelink.Variable {
			return variable.Value
		}
	}
	return ""
}
