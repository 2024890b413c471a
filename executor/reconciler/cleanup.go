package reconciler

import (
	"context"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// cleanUpLost seals the logs of lost attempts and removes them, while the next one begins. It is called after the status
// that counts them was written: until then a new leader has only their pods to judge them by, and must come to the same
// verdict.
func (r *Reconciler) cleanUpLost(task *v1.TaskAction, entry *entry) {
	for _, attempt := range entry.lost {
		r.work.Go(func() {
			r.withSlot(func(ctx context.Context) {
				r.sealLogs(ctx, attempt)
				if err := r.removeAttempt(ctx, attempt); err != nil {
					r.deps.Logger.Warn().Err(err).Str("taskAction", task.Name).Msg("cannot delete the object of a lost attempt; it will be deleted with its TaskAction")
				}
			})
		})
	}
	entry.lost = nil
}

// removeAttempt deletes what an attempt left, if a plugin ever knew of it.
func (r *Reconciler) removeAttempt(ctx context.Context, attempt *plugin.Attempt) error {
	if attempt == nil || attempt.Template == nil {
		return nil
	}
	return r.deps.Plugins.For(attempt).Remove(ctx, attempt)
}

// stopAttempt removes an attempt that has not ended, and seals its logs while it stops, as far as they can be read.
func (r *Reconciler) stopAttempt(ctx context.Context, attempt *plugin.Attempt) error {
	logs := r.logsOf(ctx, attempt)
	if err := r.removeAttempt(ctx, attempt); err != nil {
		return err
	}
	r.followLogs(attempt, logs)
	return nil
}
