package reconciler

import (
	"math"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/failure"
	"github.com/flyte-binary/flyte-binary/executor/plugin"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/backoff"
)

// reportLost reports a lost attempt: in one call with the next one, so that nobody takes a failure that is not final
// for the end.
func (r *Reconciler) reportLost(task *v1.TaskAction, entry *entry, attempt *plugin.Attempt, state plugin.State) {
	transitions := r.missedStart(task, entry, attempt, state)
	next, lost := r.decide(entry, attempt, explainMemory(attempt.Template, state.Failure))

	drift := ""
	if deletedOutside(state.Failure) {
		drift = driftPod
	}
	at := position{attempt: attempt.Number, phase: common.ActionPhase_ACTION_PHASE_FAILED}
	if lost.TimedOut() {
		at.phase = common.ActionPhase_ACTION_PHASE_TIMED_OUT
	}
	transitions = append(transitions, failureTransition(r.observed(task, at, r.eventTime(entry, state.EndedAt), state), lost))
	if next == nil {
		if !lost.TimedOut() { // Then the process still runs.
			r.startSealing(entry)
		}
		r.report(task, entry, &plan{position: at, end: true, drift: drift}, transitions...)
		return
	}
	queued := position{attempt: next.Attempt, phase: common.ActionPhase_ACTION_PHASE_QUEUED}
	event := r.event(task, queued, r.eventTime(entry, r.deps.Clock.Now()))
	event.ClusterEvents = []*workflow.ClusterEvent{clusterEvent(event.GetUpdatedTime().AsTime(), lost.Code, next.Message)}
	transitions = append(transitions, &enginev1.Transition{Event: event, NotBefore: timestamppb.New(next.NotBefore.Time)})
	r.report(task, entry, &plan{position: queued, status: next, drift: drift}, transitions...)
}

// decide returns what follows a lost attempt: the status of the next attempt, or none, and the failure as it is
// reported. The task's retries are for its own failures; what the system lost has a budget of its own. The number of an
// attempt is bounded by both together, even if the counters were lost with their TaskAction.
func (r *Reconciler) decide(entry *entry, attempt *plugin.Attempt, lost *failure.Failure) (*v1.TaskActionStatus, *failure.Failure) {
	status := *entry.status.DeepCopy()
	retries := attempt.Template.GetMetadata().GetRetries()
	allowed := int32(min(retries.GetRetries(), math.MaxInt32/2))
	var pause time.Duration
	var used, budget int32
	switch {
	case !lost.Recoverable:
		return nil, lost
	case lost.IsUsers():
		if status.UserFailures++; status.UserFailures > allowed {
			return nil, lost
		}
		pause = userPause(retries.GetBackoff(), status.UserFailures)
		used, budget = status.UserFailures, allowed
	default:
		if status.SystemFailures++; status.SystemFailures > r.config.MaxSystemFailures {
			return nil, lost.GivenUp(status.SystemFailures)
		}
		pause = backoff.After(r.config.SystemBackoff, r.config.MaxSystemBackoff, int(status.SystemFailures))
		used, budget = status.SystemFailures, r.config.MaxSystemFailures
	}
	if attempt.Number > allowed+r.config.MaxSystemFailures {
		return nil, lost
	}
	next := &v1.TaskActionStatus{
		Attempt:        attempt.Number + 1,
		UserFailures:   status.UserFailures,
		SystemFailures: status.SystemFailures,
		Phase:          phaseName(common.ActionPhase_ACTION_PHASE_QUEUED),
		Message:        clip(retryWords(lost, pause, used, budget)),
	}
	until := metav1.NewMicroTime(r.deps.Clock.Now().Add(pause))
	next.NotBefore = &until
	return next, lost
}

// userPause is the pause that the task wants before its nth retry, counted from 1.
func userPause(wanted *core.Backoff, n int32) time.Duration {
	pause := float64(wanted.GetBase().AsDuration())
	if wanted.GetFactor() > 1 {
		pause *= math.Pow(wanted.GetFactor(), float64(n-1))
	}
	if limit := wanted.GetCap(); limit != nil {
		pause = min(pause, float64(limit.AsDuration()))
	}
	return time.Duration(min(pause, float64(24*time.Hour)))
}

// longestPause bounds the pause before the current attempt.
func (r *Reconciler) longestPause(task *v1.TaskAction, entry *entry) time.Duration {
	wanted := r.attempt(task, entry).Template.GetMetadata().GetRetries().GetBackoff()
	return max(userPause(wanted, entry.status.UserFailures), backoff.Longest(r.config.MaxSystemBackoff))
}

// explainMemory adds the limit that the task asked for.
func explainMemory(template *core.TaskTemplate, lost *failure.Failure) *failure.Failure {
	if lost.Reason != failure.OOMKilled {
		return lost
	}
	resources := template.GetContainer().GetResources()
	for _, entries := range [][]*core.Resources_ResourceEntry{resources.GetLimits(), resources.GetRequests()} {
		for _, entry := range entries {
			if entry.GetName() == core.Resources_MEMORY && entry.GetValue() != "" {
				return lost.With("it asked for " + entry.GetValue())
			}
		}
	}
	return lost
}
