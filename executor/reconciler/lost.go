package reconciler

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/text/clip"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// reportLost reports a lost attempt: in one call with the next one, so that nobody takes a failure that is not final
// for the end.
func (r *Reconciler) reportLost(task *v1.TaskAction, entry *entry, attempt *plugin.Attempt, state plugin.State) {
	state = r.notAhead(state)
	transitions := r.missedStart(task, entry, attempt, state)
	next, lost := r.decide(entry, attempt, state.Failure)

	drift := ""
	if deletedOutside(state.Failure) {
		drift = driftPod
	}
	at := position{attempt: attempt.Number, phase: common.ActionPhase_ACTION_PHASE_FAILED}
	if lost.TimedOut() {
		at.phase = common.ActionPhase_ACTION_PHASE_TIMED_OUT
	}
	transitions = append(transitions, verdict.Transition(r.observed(task, at, r.endTime(entry, at, state), state), lost))
	if next == nil {
		if !lost.TimedOut() && !state.StillRuns { // Then the process still runs.
			r.startSealing(entry)
		}
		r.report(task, entry, &plan{position: at, end: true, drift: drift}, transitions...)
		return
	}
	queued := position{attempt: next.Attempt, phase: common.ActionPhase_ACTION_PHASE_QUEUED}
	event := r.event(task, queued, r.eventTime(entry, queued, r.deps.Clock.Now()))
	event.ClusterEvents = []*workflow.ClusterEvent{clusterEvent(event.GetUpdatedTime().AsTime(), lost.Code, next.Message)}
	transitions = append(transitions, &enginev1.Transition{Event: event, NotBefore: timestamppb.New(next.NotBefore.Time)})
	r.report(task, entry, &plan{position: queued, status: next, drift: drift}, transitions...)
}

// decide returns what follows a lost attempt: the status of the next attempt, or none, and the failure as it is reported.
func (r *Reconciler) decide(entry *entry, attempt *plugin.Attempt, lost *failure.Failure) (*v1.TaskActionStatus, *failure.Failure) {
	at := verdict.Count{Attempt: attempt.Number, UserFailures: entry.status.UserFailures, SystemFailures: entry.status.SystemFailures}
	retry, lost := r.budget().Next(at, attempt.Template, lost)
	if retry == nil {
		return nil, lost
	}
	until := metav1.NewMicroTime(r.deps.Clock.Now().Add(retry.Pause))
	return &v1.TaskActionStatus{
		Attempt:        retry.Attempt,
		UserFailures:   retry.UserFailures,
		SystemFailures: retry.SystemFailures,
		Phase:          phaseName(common.ActionPhase_ACTION_PHASE_QUEUED),
		Message:        clip.Head(retry.Message, maxStatusMessage),
		NotBefore:      &until,
	}, lost
}

func (r *Reconciler) budget() verdict.Budget {
	return verdict.Budget{
		MaxSystemFailures: r.config.MaxSystemFailures, SystemBackoff: r.config.SystemBackoff, MaxSystemBackoff: r.config.MaxSystemBackoff,
	}
}

// longestPause bounds the pause before the current attempt.
func (r *Reconciler) longestPause(task *v1.TaskAction, entry *entry) time.Duration {
	return r.budget().LongestPause(verdict.Count{UserFailures: entry.status.UserFailures}, r.attempt(task, entry).Template)
}
