package podstatus

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

func TestPodsThatShouldRun(t *testing.T) {
	now := clock.System{}.Now()
	ago := func(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }
	running := func(since time.Duration) corev1.ContainerState {
		return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: ago(since)}}
	}
	waits := func(reason string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
	}
	ended := func(code int32, reason string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}}
	}
	of := func(status corev1.ContainerStatus) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			status.Name = "app"
			pod.Spec.NodeName, pod.Status.Phase = "n", corev1.PodRunning
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{status}
		}
	}
	for name, tc := range map[string]struct {
		change  func(*corev1.Pod)
		why     failure.Reason // empty for nothing
		word    string
		forGood bool
		recheck bool
	}{
		"new": {func(*corev1.Pod) {}, "", "Pending", false, true},
		"no room": {func(pod *corev1.Pod) {
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes"}}
		}, failure.NoRoom, "Pending", false, false},
		"starting":   {of(corev1.ContainerStatus{State: waits("ContainerCreating")}), "", "ContainerCreating", false, false},
		"young":      {of(corev1.ContainerStatus{State: running(time.Second)}), "", "Running", false, true},
		"silent":     {of(corev1.ContainerStatus{State: running(time.Minute)}), failure.NotListening, "Running", false, false},
		"image":      {of(corev1.ContainerStatus{State: waits("InvalidImageName")}), failure.InvalidImageName, "InvalidImageName", true, false},
		"pull":       {of(corev1.ContainerStatus{State: waits("ErrImagePull")}), failure.ImagePullBackOff, "ErrImagePull", false, true},
		"memory":     {of(corev1.ContainerStatus{RestartCount: 1, State: waits("CrashLoopBackOff"), LastTerminationState: ended(137, "OOMKilled")}), failure.OOMKilled, "CrashLoopBackOff", false, false},
		"crash loop": {of(corev1.ContainerStatus{RestartCount: 3, State: waits("CrashLoopBackOff"), LastTerminationState: ended(1, "Error")}), failure.ContainerFailed, "CrashLoopBackOff", true, false},
		"no command": {of(corev1.ContainerStatus{State: ended(128, "StartError")}), failure.StartError, "StartError", true, false},
		"ended well": {of(corev1.ContainerStatus{State: ended(0, "Completed")}), failure.ContainerFailed, "Completed", false, false},
		"stopping":   {func(pod *corev1.Pod) { stamp := ago(0); pod.DeletionTimestamp = &stamp }, "", "Terminating", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: ago(0)}, Status: corev1.PodStatus{Phase: corev1.PodPending}}
			tc.change(pod)
			got := NewReader(podspec.DefaultConfig(), clock.System{}).ObserveRunning(pod, "app")
			require.Equal(t, tc.word, got.Word)
			require.Equal(t, tc.forGood, got.ForGood)
			require.Equal(t, tc.recheck, got.Recheck > 0)
			if tc.why == "" {
				require.Nil(t, got.Why)
				return
			}
			require.Equal(t, tc.why, got.Why.Reason)
		})
	}
}
