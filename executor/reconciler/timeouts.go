package reconciler

import (
	"time"

	"github.com/flyte-binary/flyte-binary/executor/failure"
	"github.com/flyte-binary/flyte-binary/executor/plugin"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
)

// withTimeouts turns a live attempt that has outlived its time into a lost one: the attempt's own time, the time that the
// action may wait for its start, the time of the action with all its attempts.
func (r *Reconciler) withTimeouts(attempt *plugin.Attempt, state plugin.State) plugin.State {
	switch state.Phase {
	case common.ActionPhase_ACTION_PHASE_QUEUED, common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES,
		common.ActionPhase_ACTION_PHASE_INITIALIZING, common.ActionPhase_ACTION_PHASE_RUNNING:
	default:
		return state
	}
	metadata, now := attempt.Template.GetMetadata(), r.deps.Clock.Now()
	check := func(from time.Time, limit time.Duration, recoverable bool, what string) bool {
		if limit <= 0 || from.IsZero() || state.Failure != nil {
			return false
		}
		left := from.Add(limit).Sub(now)
		if left > 0 {
			if state.Recheck == 0 || left < state.Recheck {
				state.Recheck = left
			}
			return false
		}
		state.Phase = common.ActionPhase_ACTION_PHASE_FAILED
		state.Failure = failure.New(failure.TimedOut, "%s of %s is over", what, limit)
		state.Failure.Recoverable = recoverable
		state.EndedAt = now
		return true
	}
	var queued time.Time
	if attempt.Task.Spec.QueuedAt != nil {
		queued = attempt.Task.Spec.QueuedAt.Time
	}
	check(queued, metadata.GetTimeouts().GetDeadline().AsDuration(), false, "the deadline")
	if state.Phase == common.ActionPhase_ACTION_PHASE_RUNNING {
		check(state.StartedAt, metadata.GetTimeout().AsDuration(), true, "the timeout")
	} else {
		check(queued, metadata.GetTimeouts().GetQueuedTimeout().AsDuration(), false, "the time to wait for a start")
	}
	return state
}
