package operated

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pods/members"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// TestWhatAnAttemptSaysOfItsPods: only what a user should know is said, and a normal start warns of nothing.
func TestWhatAnAttemptSaysOfItsPods(t *testing.T) {
	const (
		waits    = common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES
		starts   = common.ActionPhase_ACTION_PHASE_INITIALIZING
		runs     = common.ActionPhase_ACTION_PHASE_RUNNING
		operator = "the operator creates the cluster"
	)
	pod := func(name string, state plugin.State, restarts int32) members.Member {
		state.LogContext = &core.LogContext{Pods: []*core.PodLogContext{{PodName: name, PrimaryContainerName: "main"}}}
		status := corev1.ContainerStatus{Name: "main", RestartCount: restarts}
		if restarts > 0 {
			status.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 3}
		}
		return members.Member{State: state, Pod: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{status}},
		}}
	}
	for name, tc := range map[string]struct {
		reading  Reading
		members  []members.Member
		phase    common.ActionPhase
		message  string
		expected bool
	}{
		"pods that start as usual are not named": {
			Reading{}, []members.Member{pod("a", plugin.State{Phase: starts, Reason: "ContainerCreating"}, 0), pod("b", plugin.State{Phase: runs}, 0)},
			starts, "", true,
		},
		"the operator says what it does": {
			Reading{Phase: starts, Message: operator}, []members.Member{pod("a", plugin.State{Phase: starts}, 0)}, starts, operator, true,
		},
		"a pod without a node": {
			Reading{}, []members.Member{pod("a", plugin.State{Phase: starts}, 0), pod("b", plugin.State{Phase: waits, Message: "no room"}, 0)},
			waits, "pod b: no room", false,
		},
		"a pod that is stuck comes first": {
			Reading{Phase: starts, Message: operator},
			[]members.Member{pod("a", plugin.State{Phase: waits, Message: "no room"}, 0), pod("b", plugin.State{Phase: starts, Message: "no image", Stuck: true}, 0)},
			starts, "pod b: no image", false,
		},
		"all run": {Reading{Phase: starts, Message: operator}, []members.Member{pod("a", plugin.State{Phase: runs}, 0)}, runs, "", false},
		"a pod was restarted": {
			Reading{}, []members.Member{pod("a", plugin.State{Phase: runs}, 0), pod("b", plugin.State{Phase: runs}, 2)},
			runs, "pod b was restarted (2): container main ended with exit code 3", false,
		},
		"the operator restarted them": {
			Reading{Phase: runs, Message: "restart 1"}, []members.Member{pod("a", plugin.State{Phase: starts}, 0)}, runs, "restart 1", false,
		},
		"the operator has created no pods yet": {Reading{Phase: starts, Message: operator}, nil, starts, operator, true},
		"suspended":                            {Reading{Suspended: true}, nil, waits, "Widget is suspended until its queue admits it", true},
	} {
		object := &unstructured.Unstructured{Object: map[string]any{"kind": "Widget"}}
		state := plugin.State{Phase: tc.reading.Phase, Reason: tc.reading.Reason, Message: tc.reading.Message}
		(&Plugin{}).ofLive(&state, object, tc.reading, tc.members)
		require.Equal(t, tc.phase, state.Phase, name)
		require.Equal(t, tc.message, state.Message, name)
		require.Equal(t, tc.expected, state.Expected, name)
	}
}

// TestAMainPodThatIsMissing: an operator that creates no other main pod waits without a limit, and the task did not lose it.
func TestAMainPodThatIsMissing(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{"kind": "Widget", "metadata": map[string]any{"name": "w"}}}
	runs := plugin.State{Phase: common.ActionPhase_ACTION_PHASE_RUNNING}
	primary, other := members.Member{Primary: true, State: runs, Pod: &corev1.Pod{}}, members.Member{State: runs, Pod: &corev1.Pod{}}
	of := func(reading Reading, all ...members.Member) plugin.State {
		state := plugin.State{Phase: reading.Phase}
		(&Plugin{}).ofLive(&state, object, reading, all)
		return state
	}
	lost := of(Reading{Begun: true}, other)
	require.Equal(t, failure.DeletedExternally, lost.Failure.Reason)
	require.Contains(t, lost.Failure.Message, "the main pod of Widget w was deleted")
	require.True(t, lost.StillRuns, "its other pods are deleted")
	require.Nil(t, of(Reading{}, other).Failure, "the operator has not begun")
	require.Nil(t, of(Reading{Begun: true}, other, primary).Failure)
}
