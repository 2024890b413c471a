package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// nodeName is the node to which pods are bound. It is not an object: nothing of a fan-out reads it.
const nodeName = "bench"

// liveLikeKubelet takes a pod through what a scheduler and a kubelet write for one that succeeds at once: it is bound, waits
// for its containers, runs and is done. The kubelet sends strategic merge patches of the status, and so does this.
func (n *node) liveLikeKubelet(ctx context.Context, pod *corev1.Pod) error {
	err := n.client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: nodeName},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	started := metav1.Now()
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}}
	for _, report := range []struct {
		phase corev1.PodPhase
		state corev1.ContainerState
	}{
		{corev1.PodPending, corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}},
		{corev1.PodRunning, running},
		{corev1.PodSucceeded, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			Reason: "Completed", StartedAt: started, FinishedAt: metav1.Now(), ContainerID: containerID(pod),
		}}},
	} {
		if err := n.patchStatus(ctx, pod, kubeletStatus(pod, report.phase, started, report.state)); err != nil {
			return err
		}
	}
	return nil
}

// kubeletStatus is a status as complete as a kubelet's.
func kubeletStatus(pod *corev1.Pod, phase corev1.PodPhase, started metav1.Time, state corev1.ContainerState) corev1.PodStatus {
	ready, reason := corev1.ConditionFalse, "ContainersNotReady"
	switch phase {
	case corev1.PodRunning:
		ready, reason = corev1.ConditionTrue, ""
	case corev1.PodSucceeded:
		reason = "PodCompleted"
	default:
	}
	now := metav1.Now()
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus, reason string) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: status, Reason: reason, LastTransitionTime: now}
	}
	status := corev1.PodStatus{
		Phase: phase, StartTime: &started, HostIP: "10.0.0.1", HostIPs: []corev1.HostIP{{IP: "10.0.0.1"}}, QOSClass: pod.Status.QOSClass,
		Conditions: []corev1.PodCondition{
			condition(corev1.PodReadyToStartContainers, ready, ""),
			condition(corev1.PodInitialized, corev1.ConditionTrue, ""),
			condition(corev1.PodReady, ready, reason),
			condition(corev1.ContainersReady, ready, reason),
			condition(corev1.PodScheduled, corev1.ConditionTrue, ""),
		},
	}
	if phase != corev1.PodPending {
		status.PodIP, status.PodIPs = "10.0.1.1", []corev1.PodIP{{IP: "10.0.1.1"}}
	}
	for _, container := range pod.Spec.Containers {
		running := state.Running != nil
		container := corev1.ContainerStatus{Name: container.Name, Image: container.Image, State: state, Ready: running, Started: &running}
		if phase != corev1.PodPending {
			container.ContainerID = containerID(pod)
			container.ImageID = container.Image + "@sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
		}
		status.ContainerStatuses = append(status.ContainerStatuses, container)
	}
	return status
}

// patchStatus sends a patch with the uid, so that it fails if another pod has the name by now.
func (n *node) patchStatus(ctx context.Context, pod *corev1.Pod, status corev1.PodStatus) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
	if err != nil {
		return err
	}
	_, err = n.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
	return err
}

// containerID is as long as those of container runtimes.
func containerID(pod *corev1.Pod) string { return fmt.Sprintf("containerd://%064s", pod.UID) }

// tell creates the Events of a pod that starts as it should.
func (n *node) tell(ctx context.Context, pod *corev1.Pod) error {
	name, now := pod.Spec.Containers[0].Name, metav1.Now()
	var errs []error
	for _, one := range []struct{ reason, source, message string }{
		{"Scheduled", "default-scheduler", fmt.Sprintf("Successfully assigned %s/%s to %s", pod.Namespace, pod.Name, nodeName)},
		{"Pulled", "kubelet", fmt.Sprintf("Container image %q already present on machine and can be accessed by the pod", pod.Spec.Containers[0].Image)},
		{"Created", "kubelet", "Container created: " + name},
		{"Started", "kubelet", "Container started: " + name},
	} {
		_, err := n.client.CoreV1().Events(pod.Namespace).Create(ctx, &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: fmt.Sprintf("%s.%x.%s", pod.Name, now.UnixNano(), strings.ToLower(one.reason))},
			InvolvedObject: corev1.ObjectReference{
				Kind: "Pod", APIVersion: "v1", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, FieldPath: "spec.containers{" + name + "}",
			},
			Type: corev1.EventTypeNormal, Reason: one.reason, Message: one.message, Count: 1, FirstTimestamp: now, LastTimestamp: now,
			Source: corev1.EventSource{Component: one.source, Host: nodeName}, ReportingController: one.source, ReportingInstance: nodeName,
		}, metav1.CreateOptions{})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
