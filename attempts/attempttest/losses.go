package attempttest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// MaxSystemFailures is how many attempts the system may lose in Losses.
const MaxSystemFailures = 2

// Loss is an attempt that was lost after its process had begun, and what every runner must report.
type Loss struct {
	Name string
	// At is the attempt.
	At verdict.Count
	// Retries are the task's own.
	Retries uint32
	// Backoff is the task's pause before its first retry.
	Backoff time.Duration
	// Lost is why.
	Lost *failure.Failure
	// Want is the report, as Reported has it.
	Want []string
}

// Template is the task of a loss.
func (l Loss) Template() *core.TaskTemplate {
	retries := &core.RetryStrategy{Retries: l.Retries}
	if l.Backoff > 0 {
		retries.Backoff = &core.Backoff{Base: durationpb.New(l.Backoff)}
	}
	return &core.TaskTemplate{Metadata: &core.TaskMetadata{Retries: retries}}
}

// Losses are losses with budgets.
func Losses() []Loss {
	first := verdict.Count{Attempt: 1}
	because := func(reason failure.Reason) *failure.Failure { return failure.New(reason, "") }
	return []Loss{
		{
			Name: "the task fails and has no retries", At: first, Lost: because(failure.ContainerFailed),
			Want: []string{"RUNNING 1", "FAILED 1 ContainerFailed"},
		},
		{
			Name: "the task fails and has a retry", At: first, Retries: 1, Lost: because(failure.ContainerFailed),
			Want: []string{"RUNNING 1", "FAILED 1 ContainerFailed", "QUEUED 2 ContainerFailed at once"},
		},
		{
			Name: "the task wants a pause", At: first, Retries: 1, Backoff: time.Minute, Lost: because(failure.ContainerFailed),
			Want: []string{"RUNNING 1", "FAILED 1 ContainerFailed", "QUEUED 2 ContainerFailed later"},
		},
		{
			Name: "the task has used its retries", At: verdict.Count{Attempt: 2, UserFailures: 1}, Retries: 1, Lost: because(failure.Signalled),
			Want: []string{"RUNNING 2", "FAILED 2 Signalled"},
		},
		{
			Name: "a retry does not help", At: first, Retries: 5, Lost: because(failure.BadTaskSpecification),
			Want: []string{"RUNNING 1", "FAILED 1 BadTaskSpecification"},
		},
		{
			Name: "the system loses it", At: first, Lost: because(failure.NodeLost),
			Want: []string{"RUNNING 1", "FAILED 1 NodeLost", "QUEUED 2 NodeLost later"},
		},
		{
			Name: "the system loses it after the task has used its retries", At: verdict.Count{Attempt: 2, UserFailures: 1}, Retries: 1, Lost: because(failure.Killed),
			Want: []string{"RUNNING 2", "FAILED 2 Killed", "QUEUED 3 Killed later"},
		},
		{
			Name: "the system loses it too often", At: verdict.Count{Attempt: 3, SystemFailures: 2}, Retries: 5, Lost: because(failure.WorkerLost),
			Want: []string{"RUNNING 3", "FAILED 3 MaxSystemFailuresExceeded|WorkerLost"},
		},
		{
			Name: "it ran too long", At: first, Retries: 1, Lost: because(failure.RuntimeExceeded),
			Want: []string{"RUNNING 1", "TIMED_OUT 1 MAX_RUNTIME_EXCEEDED", "QUEUED 2 MAX_RUNTIME_EXCEEDED at once"},
		},
		{
			Name: "the counts were lost, but the number is that of the last attempt", At: verdict.Count{Attempt: 4}, Retries: 1, Lost: because(failure.ContainerFailed),
			Want: []string{"RUNNING 4", "FAILED 4 ContainerFailed"},
		},
	}
}

// Reported is a report in one line for each transition: the phase, the attempt and, where it says them, why and when.
func Reported(transitions []*enginev1.Transition) []string {
	var result []string
	for _, transition := range transitions {
		event := transition.GetEvent()
		line := fmt.Sprintf("%s %d", strings.TrimPrefix(event.GetPhase().String(), "ACTION_PHASE_"), event.GetAttempt())
		if code := transition.GetError().GetCode(); code != "" {
			line += " " + code
		}
		if transition.GetNotBefore() != nil {
			line += " " + event.GetClusterEvents()[0].GetReason()
			if transition.GetNotBefore().AsTime().After(event.GetUpdatedTime().AsTime()) {
				line += " later"
			} else {
				line += " at once"
			}
		}
		result = append(result, line)
	}
	return result
}

// Recorder is a sink that keeps what it gets, and answers with Outcome or, where set, Err.
type Recorder struct {
	Transitions []*enginev1.Transition
	Outcome     enginev1.TransitionOutcome
	Err         error
}

// Record implements attempts.Sink.
func (r *Recorder) Record(_ context.Context, transitions []*enginev1.Transition) ([]enginev1.TransitionOutcome, error) {
	r.Transitions = append(r.Transitions, transitions...)
	return slices.Repeat([]enginev1.TransitionOutcome{r.Outcome}, len(transitions)), r.Err
}
