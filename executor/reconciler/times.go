package reconciler

import (
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// begun is the last phase that was reported, and when it began.
type begun struct {
	attempt int32
	phase   common.ActionPhase
	at      time.Time
}

// eventTime is the best estimate of a time that the cluster truncated to seconds: the latest that it can be. So a
// parent, whose process ends after it saw the end of its child, never seems to have ended before the child. A phase
// never begins before the one before it. It may begin before an earlier observation of that one, which can be late.
func (r *Reconciler) eventTime(entry *entry, at position, seen time.Time) time.Time {
	result := r.deps.Clock.Now()
	if latest := truncated(seen); !seen.IsZero() && latest.Before(result) {
		result = latest
	}
	if result.Before(entry.begun.at) {
		result = entry.begun.at
	}
	if entry.begun.attempt != at.attempt || entry.begun.phase != at.phase {
		entry.begun = begun{attempt: at.attempt, phase: at.phase, at: result}
	}
	return result
}

// truncated is the latest time that a time in whole seconds can have been.
func truncated(seen time.Time) time.Time { return seen.UTC().Add(time.Second) }

// notAhead moves the times of a process whose machine has a clock ahead of this one, so that it ended within the last second and ran for
// as long as its machine says.
func (r *Reconciler) notAhead(state plugin.State) plugin.State {
	if ahead := state.EndedAt.Sub(r.deps.Clock.Now()); ahead > 0 && !state.StartedAt.IsZero() {
		ahead += time.Second // the times were truncated
		state.StartedAt, state.EndedAt = state.StartedAt.Add(-ahead), state.EndedAt.Add(-ahead)
	}
	return state
}

// endTime is when a process ended. If its machine has a clock so far behind ours that its start was reported later than its machine
// says, its end is as much later.
func (r *Reconciler) endTime(entry *entry, at position, state plugin.State) time.Time {
	seen, start := state.EndedAt, entry.begun
	if start.attempt == at.attempt && start.phase == common.ActionPhase_ACTION_PHASE_RUNNING && !state.StartedAt.IsZero() && !seen.IsZero() {
		seen = seen.Add(max(0, start.at.Sub(truncated(state.StartedAt))))
	}
	return r.eventTime(entry, at, seen)
}
