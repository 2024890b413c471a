package reconciler

import (
	"context"
	"fmt"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/failure"
)

// What the reconciler mends. The bridge mends TaskActions, and counts under the same name.
const (
	// mendedOrphan: a pod had no TaskAction.
	mendedOrphan = "pod_orphaned"
	// mendedPod: somebody deleted the pod of a live attempt.
	mendedPod = "pod_deleted"
	// mendedOver: the record wanted nothing more of an action whose TaskAction was there.
	mendedOver = "task_action_over"
)

func newMended(provider metric.MeterProvider) (metric.Int64Counter, error) {
	if provider == nil {
		provider = noop.NewMeterProvider()
	}
	counter, err := provider.Meter("github.com/flyte-binary/flyte-binary/executor/reconciler").Int64Counter("flyte.mended",
		metric.WithDescription("divergences between database, TaskActions and pods that were mended"))
	if err != nil {
		return nil, fmt.Errorf("make metric flyte.mended: %w", err)
	}
	return counter, nil
}

// note counts and tells one divergence.
func (r *Reconciler) note(ctx context.Context, kind string, ids func(*zerolog.Event) *zerolog.Event) {
	r.mended.Add(ctx, 1, metric.WithAttributes(attribute.String("kind", kind)))
	ids(r.deps.Logger.Warn().Str("kind", kind)).Msg("mended")
}

// noteTask is note about a TaskAction.
func (r *Reconciler) noteTask(ctx context.Context, kind string, task *v1.TaskAction, attempt int32) {
	r.note(ctx, kind, func(e *zerolog.Event) *zerolog.Event {
		return e.Stringer("action", actionOf(task)).Int64("uid", task.Spec.UID).Int32("attempt", attempt).
			Str("namespace", task.Namespace).Str("taskAction", task.Name)
	})
}

// deletedOutside says that somebody deleted the pod of an attempt that was under way.
func deletedOutside(lost *failure.Failure) bool {
	return lost != nil && (lost.Reason == failure.DeletedExternally || lost.Reason == failure.UnexpectedDeletion)
}
