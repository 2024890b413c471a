package reconciler

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/attempts"
	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/phase"
	"github.com/flyte-binary/flyte-binary/internal/text/clip"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// reportLost reports a lost attempt: in one call with the next one, so that no one takes a failure that is not final
// for the end.
func (r *Reconciler) reportLost(task *v1.TaskAction, entry *entry, attempt *plugin.Attempt, state plugin.State) {
	state = r.notAhead(state)
	transitions := r.missedStart(task, entry, attempt, state)
	next, loss := r.decide(entry, attempt, state.Failure)

	drift := ""
	if deletedOutside(state.Failure) {
		drift = driftPod
	}
	at := position{attempt: attempt.Number, phase: loss.Phase()}
	ended := verdict.Transition(r.observed(task, at, r.endTime(entry, at, state), state), loss.Failure)
	transitions = append(transitions, ended)
	if next == nil {
		if !loss.Failure.TimedOut() && !state.StillRuns { // Then the process still runs.
			r.startSealing(entry)
		}
		r.report(task, entry, &plan{position: at, end: true, drift: drift}, transitions...)
		return
	}
	queued := position{attempt: next.Attempt, phase: common.ActionPhase_ACTION_PHASE_QUEUED}
	transitions = append(transitions, r.reporter.Queued(ended.GetEvent(), loss, r.eventTime(entry, queued, r.deps.Clock.Now())))
	r.report(task, entry, &plan{position: queued, status: next, drift: drift}, transitions...)
}

// decide returns what follows a lost attempt, with the status of the next attempt, if there is one.
func (r *Reconciler) decide(entry *entry, attempt *plugin.Attempt, lost *failure.Failure) (*v1.TaskActionStatus, attempts.Loss) {
	at := verdict.Count{Attempt: attempt.Number, UserFailures: entry.status.UserFailures, SystemFailures: entry.status.SystemFailures}
	loss := r.reporter.Lose(at, attempt.Template, lost)
	if loss.Next == nil {
		return nil, loss
	}
	until := metav1.NewMicroTime(loss.NotBefore)
	return &v1.TaskActionStatus{
		Attempt:        loss.Next.Attempt,
		UserFailures:   loss.Next.UserFailures,
		SystemFailures: loss.Next.SystemFailures,
		Phase:          phase.Name(common.ActionPhase_ACTION_PHASE_QUEUED),
		Message:        clip.Head(loss.Next.Message, maxStatusMessage),
		NotBefore:      &until,
	}, loss
}

// longestPause bounds the pause before the current attempt.
func (r *Reconciler) longestPause(task *v1.TaskAction, entry *entry) time.Duration {
	return r.reporter.Budget.LongestPause(verdict.Count{UserFailures: entry.status.UserFailures}, r.attempt(task, entry).Template)
}
