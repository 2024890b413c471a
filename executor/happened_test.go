package executor_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// said are the cluster events of an action with a reason.
func (r *record) said(action ident.Action, reason string) (found []*workflow.ClusterEvent) {
	for _, transition := range r.events(action) {
		for _, event := range transition.GetEvent().GetClusterEvents() {
			if event.GetReason() == reason {
				found = append(found, event)
			}
		}
	}
	return found
}

// What the cluster says about the pod of an attempt is among its events: warnings at once, the rest with the next report, and each once.
func TestEventsOfPodsAreShown(t *testing.T) {
	started, end := make(chan corev1.Pod, 1), make(chan struct{})
	h := newHarness(t, kubetest.NodeOptions{Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		started <- *pod
		select {
		case <-end:
		case <-ctx.Done():
		}
		return succeeds(ctx, pod)
	}})
	action, task := h.submit(taskTemplate())
	pod := <-started
	number := 0
	say := func(kind, reason, message string, uid bool) {
		t.Helper()
		number++
		about := corev1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
		if !uid {
			about.UID = "of-another-pod-with-this-name"
		}
		now := metav1.Now()
		_, err := h.Clientset.CoreV1().Events(pod.Namespace).Create(t.Context(), &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s.%d", pod.Name, number)}, InvolvedObject: about, Type: kind, Reason: reason, Message: message,
			Source: corev1.EventSource{Component: "kubelet"}, FirstTimestamp: now, LastTimestamp: now, Count: 1,
		}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	h.record.awaitPhase(t, action, 1, state.Running)
	// The watch begins some time after the start, and sees what comes from then on.
	require.Eventually(t, func() bool {
		say(corev1.EventTypeWarning, "Unhealthy", "a probe failed", true)
		return len(h.record.said(action, "Unhealthy")) > 0
	}, time.Minute, 100*time.Millisecond)
	say(corev1.EventTypeNormal, "Started", "Started container main", true)
	say(corev1.EventTypeWarning, "FailedMount", "of a predecessor", false)
	say(corev1.EventTypeNormal, "TriggeredScaleUp", "pod triggered scale-up", true)
	number++
	_, err := h.Clientset.CoreV1().Events(pod.Namespace).Create(t.Context(), &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s.%d", pod.Name, number)}, Type: corev1.EventTypeNormal, Reason: "DeletedWorkerPod",
		Message:        "Deleted worker Pod",
		InvolvedObject: corev1.ObjectReference{Kind: "RayCluster", Namespace: pod.Namespace, Name: pod.Name + "-2lpd8"},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	say(corev1.EventTypeWarning, "FailedMount", "secret \"s\" not found", true)
	h.record.await(t, "the warning is recorded", func() bool { return len(h.record.said(action, "FailedMount")) > 0 })
	close(end)
	h.record.awaitPhase(t, action, 1, state.Succeeded)
	h.awaitGone(task)

	require.Len(t, h.record.said(action, "Unhealthy"), 1, "repeated, and told once")
	require.Len(t, h.record.said(action, "TriggeredScaleUp"), 1)
	require.Len(t, h.record.said(action, "DeletedWorkerPod"), 1, "of the cluster that an operator created for the attempt's object")
	require.Empty(t, h.record.said(action, "Started"), "every start has it")
	mounts := h.record.said(action, "FailedMount")
	require.Len(t, mounts, 1)
	require.Equal(t, `secret "s" not found`, mounts[0].GetMessage())
	require.Equal(t, "kubelet", mounts[0].GetSourceComponent())
	require.Equal(t, workflow.ClusterEvent_TYPE_WARNING, mounts[0].GetType())
}
