package reconciler

import (
	"context"
	"fmt"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
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

// repaired counts and logs one repair. Expected says that a restart or a new leader explains it.
func (r *Reconciler) repaired(ctx context.Context, kind string, expected bool, object string) {
	r.repairs.Count(ctx, kind)
	r.journal.Add(kind, expected, object)
}

// repairedTask is repaired for a TaskAction.
func (r *Reconciler) repairedTask(ctx context.Context, kind string, expected bool, task *v1.TaskAction, attempt int32) {
	r.repaired(ctx, kind, expected, fmt.Sprintf("TaskAction %s/%s of %s, uid %d, attempt %d",
		task.Namespace, task.Name, actionOf(task), task.Spec.UID, attempt))
}

// deletedOutside reports whether the pod of an attempt was deleted from outside before the attempt had ended.
func deletedOutside(lost *failure.Failure) bool {
	return lost != nil && (lost.Reason == failure.DeletedExternally || lost.Reason == failure.UnexpectedDeletion)
}
