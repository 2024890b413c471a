package reconciler

import (
	"context"

	"github.com/rs/zerolog"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/failure"
)

// Kinds of drift that the reconciler repairs. The owner of TaskActions counts its own under the same metric.
const (
	// driftOrphan: a pod had no TaskAction.
	driftOrphan = "pod_orphaned"
	// driftPod: the pod of a live attempt was deleted from outside.
	driftPod = "pod_deleted"
	// driftOver: an action was not live, and its TaskAction still existed.
	driftOver = "task_action_over"
)

// repaired counts and logs one repair.
func (r *Reconciler) repaired(ctx context.Context, kind string, ids func(*zerolog.Event) *zerolog.Event) {
	r.repairs.Count(ctx, kind)
	ids(r.deps.Logger.Warn().Str("kind", kind)).Msg("drift repaired")
}

// repairedTask is repaired for a TaskAction.
func (r *Reconciler) repairedTask(ctx context.Context, kind string, task *v1.TaskAction, attempt int32) {
	r.repaired(ctx, kind, func(e *zerolog.Event) *zerolog.Event {
		return e.Stringer("action", actionOf(task)).Int64("uid", task.Spec.UID).Int32("attempt", attempt).
			Str("namespace", task.Namespace).Str("taskAction", task.Name)
	})
}

// deletedOutside reports whether the pod of an attempt was deleted from outside before the attempt had ended.
func deletedOutside(lost *failure.Failure) bool {
	return lost != nil && (lost.Reason == failure.DeletedExternally || lost.Reason == failure.UnexpectedDeletion)
}
