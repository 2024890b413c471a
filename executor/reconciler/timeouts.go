package reconciler

import (
	"time"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/timelimit"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// withTimeouts turns a live attempt that exceeds a time limit into a lost one. The limits are those of the action with all
// its attempts, of the wait for resources, and of the run time. The runs service enforces the first two as well, from the
// row, for actions that no executor ends.
func (r *Reconciler) withTimeouts(entry *entry, attempt *plugin.Attempt, state plugin.State) plugin.State {
	metadata, now := attempt.Template.GetMetadata(), r.deps.Clock.Now()
	check := func(limit timelimit.Limit, from time.Time, d time.Duration, reason failure.Reason) {
		if d <= 0 || from.IsZero() || state.Failure != nil {
			return
		}
		if left := from.Add(d).Sub(now); left > 0 {
			if state.Recheck == 0 || left < state.Recheck {
				state.Recheck = left
			}
			return
		}
		state.Phase = common.ActionPhase_ACTION_PHASE_FAILED
		state.Failure = failure.OverTime(reason, limit.Message(d))
		state.EndedAt = now
	}
	deadline := func() {
		check(timelimit.Deadline, recordedAt(attempt.Task), metadata.GetTimeouts().GetDeadline().AsDuration(), failure.DeadlineExceeded)
	}
	switch state.Phase {
	case common.ActionPhase_ACTION_PHASE_QUEUED, common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES:
		deadline()
		check(timelimit.Queued, entry.waitsSince(attempt), metadata.GetTimeouts().GetQueuedTimeout().AsDuration(), failure.QueuedTooLong)
	case common.ActionPhase_ACTION_PHASE_INITIALIZING:
		deadline()
		if state.Stuck { // it does not begin to start either
			check(timelimit.Queued, entry.waitsSince(attempt), metadata.GetTimeouts().GetQueuedTimeout().AsDuration(), failure.QueuedTooLong)
		}
	case common.ActionPhase_ACTION_PHASE_RUNNING:
		deadline()
		check(timelimit.Runtime, entry.runsSince(attempt.Number, state.StartedAt, now), metadata.GetTimeout().AsDuration(), failure.RuntimeExceeded)
	}
	return state
}

// recordedAt is when the action was recorded, from which its deadline counts.
func recordedAt(task *v1.TaskAction) time.Time {
	if task.Spec.QueuedAt == nil {
		return time.Time{}
	}
	return task.Spec.QueuedAt.Time
}

// waitsSince is when the attempt began to wait: the first when the action was recorded, another at the end of the pause
// before it.
func (e *entry) waitsSince(attempt *plugin.Attempt) time.Time {
	switch {
	case e.status.NotBefore != nil && e.status.Attempt == attempt.Number:
		return e.status.NotBefore.Time
	case attempt.Number == 1:
		return recordedAt(attempt.Task)
	}
	return attempt.Task.CreationTimestamp.Time
}

// runsSince is when the process of an attempt started. The cluster truncates that to seconds; if we saw it start, we
// know better, else it counts from the end of that second, so that no attempt loses time.
func (e *entry) runsSince(attempt int32, started, now time.Time) time.Time {
	if e.running.attempt != attempt || !e.running.started.Equal(started) {
		since := started
		if started.Nanosecond() == 0 && !started.IsZero() {
			since = started.Add(time.Second)
			if now.Before(since) && now.After(started) {
				since = now
			}
		}
		e.running = running{attempt: attempt, started: started, since: since}
	}
	return e.running.since
}

// running is what is known of the start of an attempt's process.
type running struct {
	attempt        int32
	started, since time.Time
}
