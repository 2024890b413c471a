package taskactions

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kinds of drift between live actions and TaskActions.
const (
	// driftMissing: a live action had no TaskAction.
	driftMissing = "task_action_missing"
	// driftDeleted: the TaskAction of a live action was deleted from outside.
	driftDeleted = "task_action_deleted"
	// driftFinished: an action had ended, and its TaskAction still existed.
	driftFinished = "task_action_finished"
	// driftUnknown: a TaskAction of this installation belonged to no action.
	driftUnknown = "task_action_unknown"
	// driftUnmarked: a TaskAction had no label of an installation, because an older version created it.
	driftUnmarked = "task_action_unmarked"
)

// repaired counts and logs one repair. Expected says that a restart, a new leader or an upgrade explains it.
func (s *session) repaired(ctx context.Context, kind string, expected bool, uid int64, object *metav1.PartialObjectMetadata) {
	s.metrics.repairs.Count(ctx, kind)
	s.journal.Add(kind, expected, fmt.Sprintf("TaskAction %s/%s of %s, uid %d", object.Namespace, object.Name, labelledAction(object.Labels), uid))
}
