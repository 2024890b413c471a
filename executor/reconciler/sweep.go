package reconciler

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// longGrace is how long an orphaned pod may take to stop at most.
const longGrace = 5 * time.Minute

// sweepForever deletes orphans immediately and then periodically, until the context ends. At first their age does not matter: a
// process that was killed leaves the pods that it was about to delete.
func (r *Reconciler) sweepForever(ctx context.Context) error {
	var age time.Duration
	for {
		if err := r.sweepOrphans(ctx, age); err != nil {
			r.deps.Logger.Warn().Err(err).Msg("cannot sweep orphaned pods; retrying with the next sweep")
		} else {
			age = r.config.OrphanAge
		}
		if clock.Sleep(ctx, r.deps.Clock, r.config.Sweep) != nil {
			return nil //nolint:nilerr // the context has ended, as it was asked to
		}
	}
}

// sweepOrphans deletes pods of this installation whose TaskAction does not exist, as a garbage collector does, if they are at least so old. An age of 0
// is that of the sweep after a start.
func (r *Reconciler) sweepOrphans(ctx context.Context, age time.Duration) error {
	pods := &corev1.PodList{}
	if err := r.deps.Cache.List(ctx, pods, client.MatchingLabels{v1.LabelManaged: v1.ManagedValue}); err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		owner := metav1.GetControllerOf(pod)
		if owner == nil || owner.Kind != v1.Kind || (pod.DeletionTimestamp != nil && !r.lingers(pod)) ||
			r.deps.Clock.Now().Sub(pod.CreationTimestamp.Time) < age {
			continue
		}
		orphan, err := r.isGone(ctx, types.NamespacedName{Namespace: pod.Namespace, Name: owner.Name}, owner.UID)
		if err != nil {
			return err
		}
		if !orphan {
			continue
		}
		options := []client.DeleteOption{client.Preconditions{UID: &pod.UID}}
		if r.lingers(pod) {
			options = append(options, client.GracePeriodSeconds(corev1.DefaultTerminationGracePeriodSeconds))
		}
		if err := r.deps.Writer.Delete(ctx, pod, options...); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete pod %s: %w", pod.Name, err)
		}
		r.repaired(ctx, driftOrphan, age == 0, fmt.Sprintf("pod %s/%s of %s/%s, uid %s",
			pod.Namespace, pod.Name, pod.Labels[v1.LabelRun], pod.Labels[v1.LabelAction], pod.Labels[v1.LabelUID]))
	}
	return nil
}

// lingers reports whether a pod may take, or takes, much longer to stop than usual: it has a sidecar that uploads
// outputs, which are of no use when the action is not live.
func (r *Reconciler) lingers(pod *corev1.Pod) bool {
	grace := pod.Spec.TerminationGracePeriodSeconds
	if pod.DeletionTimestamp != nil {
		grace = pod.DeletionGracePeriodSeconds
	}
	if !slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.RestartPolicy != nil }) {
		return false
	}
	return grace != nil && time.Duration(*grace)*time.Second > longGrace
}

// isGone reports whether a TaskAction no longer exists; the API server has the last word.
func (r *Reconciler) isGone(ctx context.Context, key types.NamespacedName, uid types.UID) (bool, error) {
	for _, reader := range []client.Reader{r.deps.Cache, r.deps.Live} {
		task := &v1.TaskAction{}
		switch err := reader.Get(ctx, key, task); {
		case err == nil && task.UID == uid:
			return false, nil
		case err != nil && !apierrors.IsNotFound(err):
			return false, fmt.Errorf("read task action: %w", err)
		}
	}
	return true, nil
}
