package reconciler

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/attempts/attempttest"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// TestANormalStartIsToldOnce: operators give one message at several steps, and the pods that start have messages in between.
func TestANormalStartIsToldOnce(t *testing.T) {
	now := time.Unix(1000, 0)
	starts, waits := common.ActionPhase_ACTION_PHASE_INITIALIZING, common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES
	creates := func(reason string) plugin.State {
		return plugin.State{Phase: starts, Reason: reason, Message: "the operator creates the cluster", Expected: true}
	}
	image := plugin.State{Phase: starts, Reason: "Pulling", Message: "pod a: pulls its image", Expected: true}
	room := plugin.State{Phase: waits, Reason: "Unschedulable", Message: "no room"}
	quota := plugin.State{Phase: waits, Reason: "Quota", Message: "no quota"}
	runs := plugin.State{Phase: common.ActionPhase_ACTION_PHASE_RUNNING}
	preempted := plugin.State{Phase: waits, Reason: "Suspended", Message: "preempted", Expected: true, Paused: true}
	for name, tc := range map[string]struct {
		states []plugin.State
		want   []string
	}{
		"two steps of the operator":            {[]plugin.State{creates("JobCreated"), creates("ClusterCreated")}, []string{creates("").Message}},
		"a pod in between":                     {[]plugin.State{creates("a"), image, creates("a"), image}, []string{creates("").Message, image.Message}},
		"a warning repeats when it comes back": {[]plugin.State{room, quota, room}, []string{room.Message, quota.Message, room.Message}},
		"one that ran waits again":             {[]plugin.State{runs, preempted, preempted, runs}, []string{preempted.Message}},
		"a stale cache":                        {[]plugin.State{runs, room}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			sink := &attempttest.Recorder{Outcome: enginev1.TransitionOutcome_TRANSITION_OUTCOME_APPLIED}
			r, err := New(DefaultConfig(), Deps{Sink: sink, Clock: clock.NewFake(now)})
			require.NoError(t, err)
			task := &v1.TaskAction{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now)}}
			e := &entry{status: v1.TaskActionStatus{Attempt: 1}}
			for _, state := range tc.states {
				r.reportProgress(task, e, &plugin.Attempt{Task: task, Number: 1}, state)
				require.Eventually(t, func() bool { return !e.busy() }, time.Minute, time.Millisecond)
				r.applyAnswer(t.Context(), task, e)
			}
			r.work.Close()
			var said []string
			var last common.ActionPhase
			for _, transition := range sink.Transitions {
				phase := transition.GetEvent().GetPhase()
				require.GreaterOrEqual(t, phase, last, "phases do not go back")
				last = phase
				for _, event := range transition.GetEvent().GetClusterEvents() {
					said = append(said, event.GetMessage())
				}
			}
			require.Equal(t, tc.want, said)
		})
	}
}
