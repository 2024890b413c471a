package reconciler

import (
	"context"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// startSealing starts to seal the logs of the last attempt, as soon as its process has ended and before the end is
// reported: the object, and with it the pod, is retained until the logs are sealed.
func (r *Reconciler) startSealing(entry *entry) {
	if entry.sealed != nil {
		return
	}
	sealed, attempt := make(chan struct{}), entry.attempt
	entry.mu.Lock()
	entry.sealed = sealed
	entry.mu.Unlock()
	if r.deps.Sealer == nil {
		close(sealed)
		return
	}
	r.work.Go(func() {
		defer close(sealed)
		r.withSlot(func(ctx context.Context) { r.sealLogs(ctx, attempt) })
	})
}

// finish ends an action in the background. A process that still runs is stopped and not waited for. Otherwise the cleanup
// follows when the logs are sealed, and waits while there is a burst.
func (r *Reconciler) finish(task *v1.TaskAction, entry *entry) {
	entry.mu.Lock()
	entry.finishing = true
	entry.mu.Unlock()
	attempt, sealed := entry.attempt, entry.sealed
	switch {
	case sealed == nil:
		r.work.Go(func() {
			r.withSlot(func(ctx context.Context) { r.cleanUp(ctx, task, entry, attempt, r.stopAttempt) })
		})
	case isClosed(sealed):
		r.cleanUpLater(task, entry, attempt)
	default:
		r.work.Go(func() {
			waitClosed(sealed)
			r.cleanUpLater(task, entry, attempt)
		})
	}
}

func (r *Reconciler) cleanUpLater(task *v1.TaskAction, entry *entry, attempt *plugin.Attempt) {
	r.cleanups.add(r.lifetime, func(ctx context.Context) { r.cleanUp(ctx, task, entry, attempt, r.removeAttempt) })
}

// cleanUp notifies the owner of the TaskAction, which deletes it, and removes what the attempt left.
func (r *Reconciler) cleanUp(
	ctx context.Context, task *v1.TaskAction, entry *entry, attempt *plugin.Attempt, remove func(context.Context, *plugin.Attempt) error,
) {
	if ctx.Err() != nil {
		return // We are stopping, and the logs may not be sealed: our successor repeats this.
	}
	if r.deps.Finished != nil {
		r.deps.Finished(task)
	}
	err := remove(ctx, attempt)
	if err == nil || ctx.Err() != nil {
		return // The deletion of the TaskAction wakes us, or our successor repeats this.
	}
	r.deps.Logger.Warn().Err(err).Str("taskAction", task.Name).Msg("cannot remove the last attempt; retrying")
	entry.mu.Lock()
	entry.finishing = false
	entry.reportErrors++
	pause := backoff.After(r.config.ErrorBackoff, r.config.MaxErrorBackoff, entry.reportErrors)
	entry.mu.Unlock()
	r.work.Go(func() {
		if clock.Sleep(r.lifetime, r.deps.Clock, pause) == nil {
			r.wake(client.ObjectKeyFromObject(task))
		}
	})
}

// AwaitRoom returns when there is room for new TaskActions, or when ctx ends.
func (r *Reconciler) AwaitRoom(ctx context.Context) { r.cleanups.awaitRoom(ctx) }

// Cleanups is how many ended actions wait for their cleanup.
func (r *Reconciler) Cleanups() int { return r.cleanups.size() }

// Retains reports whether a TaskAction must stay although its action is no longer live: the logs of its last attempt
// are being sealed, or this process has not observed it yet, so that an ended process may have logs that are not
// sealed. The owner asks again, or is notified by Deps.Finished.
func (r *Reconciler) Retains(key types.NamespacedName, uid types.UID) bool {
	return !r.synced.Load() || r.memory.retains(key, uid)
}

// HoldsPods reports whether there are pods of an action that have not ended, or may be some.
func (r *Reconciler) HoldsPods(uid int64) bool {
	action, pods := strconv.FormatInt(uid, 10), &corev1.PodList{}
	if r.memory.has(action) {
		return true
	}
	err := r.deps.Cache.List(r.lifetime, pods, client.MatchingLabels{v1.LabelUID: action})
	return err != nil || slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool {
		return pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
	})
}

// operatorLag is how long after an attempt was stopped its operator may still create pods for it.
const operatorLag = time.Second

// taskDeleted removes what an action left whose TaskAction was deleted, as happens on an abort. What this process never
// saw is left to the garbage collector and to the sweep.
func (r *Reconciler) taskDeleted(ctx context.Context, key types.NamespacedName) error {
	entry := r.memory.remove(key)
	if entry == nil {
		return nil
	}
	if entry.attempt == nil {
		r.memory.stopped(entry)
		return nil
	}
	entry.mu.Lock()
	finishing := entry.finishing
	entry.mu.Unlock()
	switch {
	case finishing: // finish does the same.
		r.memory.stopped(entry)
		return nil
	case entry.sealed == nil:
		if err := r.stopAttempt(ctx, entry.attempt); err != nil {
			r.memory.restore(key, entry) // retried when the API server is back
			return err
		}
		r.work.Go(func() {
			_ = clock.Sleep(r.lifetime, r.deps.Clock, operatorLag)
			r.memory.stopped(entry)
		})
		return nil
	}
	// Its process had ended. The pod is removed when the logs are sealed.
	r.memory.stopped(entry)
	r.work.Go(func() {
		waitClosed(entry.sealed)
		r.withSlot(func(ctx context.Context) {
			if err := r.removeAttempt(ctx, entry.attempt); err != nil {
				r.deps.Logger.Warn().Err(err).Str("taskAction", key.Name).Msg("cannot remove an ended attempt; it is swept later")
			}
		})
	})
	return nil
}
