package pools

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/attempts"
	"github.com/flyte-binary/flyte-binary/attempts/attempttest"
	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pools/store"
)

// reporting is a handler whose reports are recorded and not acknowledged, so that it writes nothing.
func reporting(now time.Time) (h *handler, sink *attempttest.Recorder) {
	sink = &attempttest.Recorder{Err: errors.New("not acknowledged")}
	fake := clock.NewFake(now)
	budget := verdict.Budget{MaxSystemFailures: attempttest.MaxSystemFailures, SystemBackoff: time.Second, MaxSystemBackoff: time.Minute}
	return &handler{deps: Deps{Clock: fake}, reporter: attempts.Reporter{Sink: sink, Clock: fake, Budget: budget}}, sink
}

func assignedTo(template *core.TaskTemplate) *enginev1.Assignment {
	return &enginev1.Assignment{Task: &workflow.TaskAction{Spec: &task.TaskSpec{TaskTemplate: template}}}
}

// TestLossesAreReportedAsByEveryRunner: executor/reconciler has the same test for pods.
func TestLossesAreReportedAsByEveryRunner(t *testing.T) {
	for _, tc := range attempttest.Losses() {
		t.Run(tc.Name, func(t *testing.T) {
			now := time.Unix(1000, 0)
			begun := now.Add(-time.Minute)
			h, sink := reporting(now)
			row := attemptOf(&store.Action{UID: 7, Worker: "w", Claimed: &begun, BegunAt: &begun}, tc.At)
			_, err := h.failed(t.Context(), &row, assignedTo(tc.Template()), tc.Lost, now, store.Claimant{})
			require.ErrorIs(t, err, sink.Err)
			require.Equal(t, tc.Want, attempttest.Reported(sink.Transitions))
		})
	}
}

// TestAStartIsReportedWhenItWas: not when the report was made.
func TestAStartIsReportedWhenItWas(t *testing.T) {
	now := time.Unix(1000, 0)
	h, _ := reporting(now)
	claimed, begun := now.Add(-time.Minute), now.Add(-50*time.Second)
	row := &store.Action{UID: 7, Attempt: 1, Worker: "w", Claimed: &claimed, BegunAt: &begun}
	for name, endedAt := range map[string]time.Time{"it runs": {}, "it has ended": now.Add(-10 * time.Second)} {
		start := h.missedStart(row, assignedTo(nil), endedAt)
		require.Equal(t, begun.UTC(), start[0].GetEvent().GetUpdatedTime().AsTime(), name)
	}
}
