package kubetest

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// PatchPodStatus writes fields of a pod's status, as a kubelet does.
func PatchPodStatus(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod, status corev1.PodStatus) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, body, metav1.PatchOptions{}, "status")
	return err
}

// Running is the status of a pod all of whose containers run.
func Running(pod *corev1.Pod, started metav1.Time) corev1.PodStatus {
	status := corev1.PodStatus{
		Phase:     corev1.PodRunning,
		StartTime: &started,
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: started},
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: started},
		},
	}
	for _, container := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, Ready: true,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}},
		})
	}
	return status
}

// Terminated is the status of a pod all of whose containers ended in the same way.
func Terminated(pod *corev1.Pod, started, finished metav1.Time, result Result) corev1.PodStatus {
	status := Running(pod, started)
	status.Phase = corev1.PodSucceeded
	reason := "Completed"
	if result.ExitCode != 0 {
		status.Phase, reason = corev1.PodFailed, "Error"
	}
	if result.Reason != "" {
		reason = result.Reason
	}
	for i := range status.ContainerStatuses {
		status.ContainerStatuses[i].Ready = false
		status.ContainerStatuses[i].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: result.ExitCode, Reason: reason, Message: result.Message, StartedAt: started, FinishedAt: finished,
		}}
	}
	return status
}
