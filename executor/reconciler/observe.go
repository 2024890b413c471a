package reconciler

import (
	"math"
	"time"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// reportProgress reports the state of a running attempt, if it changed. An unchanged state is reported from time to time,
// to learn whether the action is still live.
func (r *Reconciler) reportProgress(task *v1.TaskAction, entry *entry, attempt *plugin.Attempt, state plugin.State) {
	r.noteStatus(entry, attempt, state)
	if state.Phase == common.ActionPhase_ACTION_PHASE_QUEUED {
		return // The runs service knows that.
	}
	if acked := entry.acked; state.Paused && acked.attempt == attempt.Number && acked.phase > state.Phase {
		state.Phase = acked.phase // phases do not go back, but people should know why it does not run
	}
	at, acked := position{
		attempt: attempt.Number, phase: state.Phase, fingerprint: fingerprint(state), said: state.Reason + "\x00" + state.Message, message: state.Message,
	}, entry.acked
	now := r.deps.Clock.Now()
	probe := false
	if acked.attempt == at.attempt {
		switch {
		case acked.phase > at.phase:
			return // A stale cache, or a container that restarted; phases do not go back.
		case acked.phase == at.phase && acked.fingerprint == at.fingerprint && !entry.log.Urgent(at.attempt):
			if age := now.Sub(entry.ackedAt); age >= 0 && age < r.config.Resync { // below 0 when the clock was set back
				return
			}
			at.version, probe = acked.version, true
		case acked.phase == at.phase:
			at.version = r.nextVersion(acked.version, task)
		}
	}
	when := now
	switch isNew := acked.attempt != at.attempt || acked.phase < state.Phase; {
	case !isNew:
	case state.Phase == common.ActionPhase_ACTION_PHASE_RUNNING:
		when = state.StartedAt
	default:
		when = state.Since
	}
	// An operator says what it does at each of its steps, and pods that start in turns say more in between.
	again := state.Expected && entry.log.Recorded(at.attempt, state.Message)
	if again || (acked.attempt == at.attempt && acked.said == at.said) {
		state.Reason, state.Message = "", "" // said before; only the phase, the pods or their logs are new
	}
	event := r.observed(task, at, r.eventTime(entry, at, when), state)
	if state.Phase == common.ActionPhase_ACTION_PHASE_RUNNING && (acked.attempt != at.attempt || acked.phase < state.Phase) {
		r.addNotice(event, state.Notice)
	}
	r.report(task, entry, &plan{position: at, probe: probe}, &enginev1.Transition{Event: event})
}

// nextVersion grows with each observation of a phase and, since it is at least the age of the TaskAction in seconds, over
// restarts too.
func (r *Reconciler) nextVersion(last uint32, task *v1.TaskAction) uint32 {
	age := r.deps.Clock.Now().Sub(task.CreationTimestamp.Time) / time.Second
	return max(last+1, uint32(min(max(age, 0), math.MaxInt32)))
}

// reportSuccess reports that the attempt succeeded.
func (r *Reconciler) reportSuccess(
	taskAction *v1.TaskAction, entry *entry, attempt *plugin.Attempt, state plugin.State, outputs *task.OutputReferences,
) {
	state = r.notAhead(state)
	transitions := r.missedStart(taskAction, entry, attempt, state)
	at := position{attempt: attempt.Number, phase: common.ActionPhase_ACTION_PHASE_SUCCEEDED}
	event := r.observed(taskAction, at, r.endTime(entry, at, state), state)
	event.Outputs = outputs
	if !state.StillRuns {
		r.startSealing(entry)
	}
	r.report(taskAction, entry, &plan{position: at, end: true}, append(transitions, &enginev1.Transition{Event: event})...)
}

// missedStart is the start of a process whose end is seen first, as happens with short ones.
func (r *Reconciler) missedStart(task *v1.TaskAction, entry *entry, attempt *plugin.Attempt, state plugin.State) []*enginev1.Transition {
	running := common.ActionPhase_ACTION_PHASE_RUNNING
	if state.StartedAt.IsZero() || (entry.acked.attempt == attempt.Number && entry.acked.phase >= running) {
		return nil
	}
	at := position{attempt: attempt.Number, phase: running}
	started := state
	started.Message, started.Reason = "", ""
	event := r.observed(task, at, r.eventTime(entry, at, state.StartedAt), started)
	r.addNotice(event, state.Notice)
	return []*enginev1.Transition{{Event: event}}
}
