package attempts_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/attempts"
	"github.com/flyte-binary/flyte-binary/attempts/attempttest"
	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// waiting answers with the assignments of the actions that are live.
type waiting []*enginev1.Assignment

func (w waiting) GetAssignments(context.Context, *enginev1.GetAssignmentsRequest) (*enginev1.GetAssignmentsResponse, error) {
	return &enginev1.GetAssignmentsResponse{Assignments: w}, nil
}

func TestAnswersToReports(t *testing.T) {
	const (
		applied  = enginev1.TransitionOutcome_TRANSITION_OUTCOME_APPLIED
		stale    = enginev1.TransitionOutcome_TRANSITION_OUTCOME_STALE
		terminal = enginev1.TransitionOutcome_TRANSITION_OUTCOME_TERMINAL
		unknown  = enginev1.TransitionOutcome_TRANSITION_OUTCOME_UNKNOWN_ACTION
	)
	next := &verdict.Count{Attempt: 2, SystemFailures: 1}
	known := &enginev1.Assignment{Attempt: 2, UserFailures: 1}
	for name, tc := range map[string]struct {
		outcome enginev1.TransitionOutcome
		next    *verdict.Count
		waiting waiting
		want    attempts.Answer
	}{
		"an end":                          {outcome: applied},
		"a loss":                          {outcome: applied, next: next, want: attempts.Answer{Next: next}},
		"a loss that was recorded before": {outcome: stale, next: next, waiting: waiting{known}, want: attempts.Answer{Next: &verdict.Count{Attempt: 2, UserFailures: 1}}},
		"the next attempt has begun":      {outcome: stale, next: next, waiting: waiting{{Attempt: 2, Begun: true}}},
		"the action has ended since":      {outcome: stale, next: next},
		"the action had ended":            {outcome: terminal, next: next, want: attempts.Answer{Over: true}},
		"the action is unknown":           {outcome: unknown, next: next, want: attempts.Answer{Over: true}},
		"an end that was recorded before": {outcome: stale, waiting: waiting{known}},
	} {
		t.Run(name, func(t *testing.T) {
			reporter := attempts.Reporter{Sink: &attempttest.Recorder{Outcome: tc.outcome}, Assignments: tc.waiting, Clock: clock.NewFake(time.Unix(1000, 0))}
			got, err := reporter.Send(t.Context(), 7, tc.next, &enginev1.Transition{})
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
	reporter := attempts.Reporter{Sink: &attempttest.Recorder{Err: errors.New("down")}}
	_, err := reporter.Send(t.Context(), 7, next, &enginev1.Transition{})
	require.ErrorContains(t, err, "down")
}
