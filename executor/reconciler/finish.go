package reconciler

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/plugin"
	"github.com/flyte-binary/flyte-binary/internal/failpoint"
	"github.com/flyte-binary/flyte-binary/internal/layout"
)

const (
	// maxFinishes is how many ends are carried out at once.
	maxFinishes = 16
	// maxFollows is how many logs of pods that are being stopped are read at once.
	maxFollows = 32
	// sealTries is how often a log is read before it is given up, as long as its pod is there.
	sealTries = 3
	// sealPause is the pause between two tries.
	sealPause = 500 * time.Millisecond
)

// end begins to keep the logs of the last attempt, as soon as its process has ended: once the record has its end, others
// may delete the TaskAction, and its pod with it.
func (r *Reconciler) end(entry *entry) {
	if entry.sealed != nil {
		return
	}
	sealed, attempt := make(chan struct{}), entry.attempt
	entry.sealed = sealed
	r.work.Go(func() {
		defer close(sealed)
		r.limited(func(ctx context.Context) { r.seal(ctx, attempt) })
	})
}

// finish carries out the end of an action in the background: when its logs are kept, the TaskAction is deleted, and what
// the attempt left. What still runs is not waited for.
func (r *Reconciler) finish(task *v1.TaskAction, entry *entry) {
	entry.mu.Lock()
	entry.finishing = true
	entry.mu.Unlock()
	attempt, sealed := entry.attempt, entry.sealed
	r.work.Go(func() {
		await(sealed)
		var err error
		r.limited(func(ctx context.Context) {
			err = r.deleteTask(ctx, task)
			if sealed == nil {
				err = errors.Join(err, r.interrupt(ctx, attempt))
			} else {
				err = errors.Join(err, r.remove(ctx, attempt))
			}
		})
		if err == nil || r.lifetime.Err() != nil {
			return // The deletion of the TaskAction wakes us, or our successor does it.
		}
		r.deps.Logger.Warn().Err(err).Str("taskAction", task.Name).Msg("finish action")
		entry.mu.Lock()
		entry.finishing = false
		entry.errors++
		pause := backoff(r.config.ErrorBackoff, r.config.MaxErrorBackoff, entry.errors)
		entry.mu.Unlock()
		if r.pause(r.lifetime, pause) {
			r.wake(client.ObjectKeyFromObject(task))
		}
	})
}

// retire cleans up behind lost attempts while the next one begins. It waits for the status that counts them: until then
// a successor has nothing but their pods to judge them by, and must come to the same verdict.
func (r *Reconciler) retire(task *v1.TaskAction, entry *entry) {
	for _, attempt := range entry.lost {
		r.work.Go(func() {
			r.limited(func(ctx context.Context) {
				r.seal(ctx, attempt)
				if err := r.remove(ctx, attempt); err != nil {
					// What is left goes with the TaskAction.
					r.deps.Logger.Warn().Err(err).Str("taskAction", task.Name).Msg("remove lost attempt")
				}
			})
		})
	}
	entry.lost = nil
}

func (r *Reconciler) deleteTask(ctx context.Context, task *v1.TaskAction) error {
	target := &v1.TaskAction{}
	if err := r.deps.Cache.Get(ctx, client.ObjectKeyFromObject(task), target); apierrors.IsNotFound(err) {
		return nil // The bridge was faster.
	}
	target.Namespace, target.Name = task.Namespace, task.Name
	failpoint.Here("reconciler.before-delete")
	err := r.deps.Writer.Delete(ctx, target,
		client.Preconditions{UID: &task.UID}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	failpoint.Here("reconciler.after-delete")
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete task action: %w", err)
	}
	return nil
}

// remove deletes what an attempt left, if a plugin ever knew of it.
func (r *Reconciler) remove(ctx context.Context, attempt *plugin.Attempt) error {
	if attempt == nil || attempt.Template == nil {
		return nil
	}
	return r.deps.Plugins.For(attempt.Task.Spec.TaskType).Remove(ctx, attempt)
}

// interrupt deletes what an attempt left that has not ended, and keeps its log while it stops, as far as it can be read.
func (r *Reconciler) interrupt(ctx context.Context, attempt *plugin.Attempt) error {
	logs := r.logs(ctx, attempt)
	if err := r.remove(ctx, attempt); err != nil {
		return err
	}
	r.follow(attempt, logs)
	return nil
}

// follow keeps logs of an attempt that is being stopped: to their end, or as far as they can be read. Afterwards its pod
// is gone, and the logs with it.
func (r *Reconciler) follow(attempt *plugin.Attempt, logs []plugin.Log) {
	for _, log := range logs {
		log.Follow = true
		r.work.Go(func() {
			select {
			case r.follows <- struct{}{}:
				defer func() { <-r.follows }()
				r.sealOne(r.lifetime, log, layout.SealedLog(attempt.Dir, log.Container))
			case <-r.lifetime.Done():
			}
		})
	}
}

// gone deletes what an action left whose TaskAction was deleted by somebody else, as the bridge does on an abort. What
// this process never saw is left to the garbage collector and to the sweep.
func (r *Reconciler) gone(ctx context.Context, key types.NamespacedName) error {
	entry := r.memory.leave(key)
	if entry == nil || entry.attempt == nil {
		return nil
	}
	entry.mu.Lock()
	finishing := entry.finishing
	entry.mu.Unlock()
	switch {
	case finishing:
		return nil // It is being done.
	case entry.sealed == nil:
		if err := r.interrupt(ctx, entry.attempt); err != nil {
			r.memory.back(key, entry) // and once more, when the API server is there again
			return err
		}
		return nil
	}
	// Its end is known to the record, and somebody cleans up; our part is the log.
	r.work.Go(func() {
		await(entry.sealed)
		r.limited(func(ctx context.Context) {
			if err := r.remove(ctx, entry.attempt); err != nil {
				r.deps.Logger.Warn().Err(err).Str("taskAction", key.Name).Msg("remove ended attempt")
			}
		})
	})
	return nil
}

// seal keeps the logs of an attempt. A log that cannot be read does not keep an action from ending.
func (r *Reconciler) seal(ctx context.Context, attempt *plugin.Attempt) {
	for _, log := range r.logs(ctx, attempt) {
		r.sealOne(ctx, log, layout.SealedLog(attempt.Dir, log.Container))
	}
}

// logs names the logs that can and shall be kept.
func (r *Reconciler) logs(ctx context.Context, attempt *plugin.Attempt) []plugin.Log {
	if r.deps.Sealer == nil || attempt == nil || attempt.Template == nil {
		return nil
	}
	logged, ok := r.deps.Plugins.For(attempt.Task.Spec.TaskType).(plugin.Logged)
	if !ok {
		return nil
	}
	logs, err := logged.Logs(ctx, attempt)
	if err != nil {
		r.deps.Logger.Warn().Err(err).Str("taskAction", attempt.Task.Name).Msg("list logs")
	}
	return logs
}

func (r *Reconciler) sealOne(ctx context.Context, log plugin.Log, uri string) {
	for try := 1; ; try++ {
		err := r.deps.Sealer.Seal(ctx, log, uri)
		if err == nil || ctx.Err() != nil {
			return
		}
		if try == sealTries || !r.pause(ctx, sealPause) {
			r.deps.Logger.Warn().Err(err).Str("pod", log.Pod).Str("container", log.Container).Msg("keep log")
			return
		}
	}
}

// limited runs something when there is a slot for it, unless the reconciler ends before.
func (r *Reconciler) limited(do func(context.Context)) {
	select {
	case r.finishes <- struct{}{}:
		defer func() { <-r.finishes }()
		do(r.lifetime)
	case <-r.lifetime.Done():
	}
}

// await waits for something that may never have begun.
func await(done chan struct{}) {
	if done != nil {
		<-done
	}
}

// pause waits; false means that the reconciler ends.
func (r *Reconciler) pause(ctx context.Context, d time.Duration) bool {
	timer := r.deps.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}
