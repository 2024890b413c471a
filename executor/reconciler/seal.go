package reconciler

import (
	"context"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

const (
	// sealTries is how often reading a log is tried while its pod exists.
	sealTries = 3
	// sealPause is the pause between two tries.
	sealPause = 500 * time.Millisecond
)

// sealLogs seals the logs of an attempt. A log that cannot be read does not keep an action from ending.
func (r *Reconciler) sealLogs(ctx context.Context, attempt *plugin.Attempt) {
	for _, log := range r.logsOf(ctx, attempt) {
		r.sealLog(ctx, log, blobpath.SealedLog(attempt.Dir, log.Member, log.Container))
	}
}

// logsOf lists the logs of an attempt that are to be sealed.
func (r *Reconciler) logsOf(ctx context.Context, attempt *plugin.Attempt) []plugin.Log {
	if r.deps.Sealer == nil || attempt == nil || attempt.Template == nil {
		return nil
	}
	logged, ok := r.deps.Plugins.For(attempt).(plugin.Logged)
	if !ok {
		return nil
	}
	logs, err := logged.Logs(ctx, attempt)
	if err != nil {
		r.deps.Logger.Warn().Err(err).Str("taskAction", attempt.Task.Name).Msg("cannot list the logs of an attempt")
	}
	return logs
}

// sealLog seals one log and retries a few times.
func (r *Reconciler) sealLog(ctx context.Context, log plugin.Log, uri string) {
	for try := 1; ; try++ {
		err := r.deps.Sealer.Seal(ctx, log, uri)
		if err == nil || ctx.Err() != nil {
			return
		}
		if try == sealTries || clock.Sleep(ctx, r.deps.Clock, sealPause) != nil {
			r.deps.Logger.Warn().Err(err).Str("pod", log.Pod).Str("container", log.Container).Msg("cannot seal a log")
			return
		}
	}
}

// followLogs seals logs of an attempt that is being stopped, to their end or as far as they can be read: afterwards its
// pod does not exist, nor do the logs.
func (r *Reconciler) followLogs(attempt *plugin.Attempt, logs []plugin.Log) {
	for _, log := range logs {
		log.Follow = true
		r.work.Go(func() {
			select {
			case r.follows <- struct{}{}:
				defer func() { <-r.follows }()
				r.sealLog(r.lifetime, log, blobpath.SealedLog(attempt.Dir, log.Member, log.Container))
			case <-r.lifetime.Done():
			}
		})
	}
}
