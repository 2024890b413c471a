package podstatus

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// Logs lists the logs of a pod: one for every container that ran. A pod without a node has none.
func Logs(pod *corev1.Pod) []plugin.Log {
	if pod.Spec.NodeName == "" {
		return nil
	}
	var result []plugin.Log
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, status := range statuses {
			if status.State.Waiting == nil {
				result = append(result, plugin.Log{Namespace: pod.Namespace, Pod: pod.Name, Container: status.Name})
			}
		}
	}
	return result
}

// logContext says which containers have logs.
func logContext(pod *corev1.Pod, primary string) *core.LogContext {
	return &core.LogContext{
		PrimaryPodName: pod.Name,
		Pods: []*core.PodLogContext{{
			Namespace:            pod.Namespace,
			PodName:              pod.Name,
			PrimaryContainerName: primary,
			Containers:           containerContexts(pod.Spec.Containers, pod.Status.ContainerStatuses),
			InitContainers:       containerContexts(pod.Spec.InitContainers, pod.Status.InitContainerStatuses),
		}},
	}
}

// containerContexts lists the containers of a pod in the order of its spec, with the times of their processes.
func containerContexts(containers []corev1.Container, statuses []corev1.ContainerStatus) []*core.ContainerContext {
	var result []*core.ContainerContext
	for _, container := range containers {
		entry := &core.ContainerContext{ContainerName: container.Name}
		if status := statusOf(statuses, container.Name); status != nil {
			if started, ended := span(status); !started.IsZero() {
				entry.Process = &core.ContainerContext_ProcessContext{
					ContainerStartTime: timestamppb.New(started), ContainerEndTime: timestampOrNil(ended),
				}
			}
		}
		result = append(result, entry)
	}
	return result
}

func timestampOrNil(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
