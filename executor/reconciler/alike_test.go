package reconciler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/attempts/attempttest"
	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// TestLossesAreReportedAsByEveryRunner: pools has the same test for workers.
func TestLossesAreReportedAsByEveryRunner(t *testing.T) {
	for _, tc := range attempttest.Losses() {
		t.Run(tc.Name, func(t *testing.T) {
			now := time.Unix(1000, 0)
			config, sink := DefaultConfig(), &attempttest.Recorder{Outcome: enginev1.TransitionOutcome_TRANSITION_OUTCOME_APPLIED}
			config.MaxSystemFailures = attempttest.MaxSystemFailures
			r, err := New(config, Deps{Sink: sink, Clock: clock.NewFake(now)})
			require.NoError(t, err)

			task := &v1.TaskAction{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now)}}
			e := &entry{status: v1.TaskActionStatus{Attempt: tc.At.Attempt, UserFailures: tc.At.UserFailures, SystemFailures: tc.At.SystemFailures}}
			state := plugin.Lost(tc.Lost)
			state.StartedAt, state.EndedAt = now.Add(-time.Minute), now
			r.reportLost(task, e, &plugin.Attempt{Task: task, Template: tc.Template(), Number: tc.At.Attempt}, state)
			r.work.Close() // the report is sent
			require.Equal(t, tc.Want, attempttest.Reported(sink.Transitions))

			next := e.plan.queued()
			r.applyAnswer(t.Context(), task, e)
			require.Equal(t, next == nil, e.finished)
			if next != nil {
				require.Equal(t, *next, verdict.Count{Attempt: e.status.Attempt, UserFailures: e.status.UserFailures, SystemFailures: e.status.SystemFailures})
			}
		})
	}
}
