package podsecret

import (
	"context"

	corev1 "k8s.io/api/core/v1"
)

// Clean returns the pod with the values of its secrets replaced in all messages of its status. Without secrets or messages,
// which most pods have not, it is the pod itself and nothing is read. Errors are those of Cleaner.
func Clean(ctx context.Context, get Getter, pod *corev1.Pod) (*corev1.Pod, error) {
	status, err := CleanStatus(ctx, get, pod, &pod.Status)
	if err != nil || status == &pod.Status {
		return pod, err
	}
	cleaned := pod.DeepCopy()
	cleaned.Status = *status
	return cleaned, nil
}

// CleanStatus is Clean for the status that a pod is going to have.
func CleanStatus(ctx context.Context, get Getter, pod *corev1.Pod, status *corev1.PodStatus) (*corev1.PodStatus, error) {
	names := Names(&pod.Spec)
	if len(names) == 0 || !speaks(status) {
		return status, nil
	}
	clean, err := Cleaner(ctx, get, pod.Namespace, names)
	if err != nil {
		return nil, err
	}
	cleaned := status.DeepCopy()
	eachMessage(cleaned, func(message *string) { *message = clean(*message) })
	return cleaned, nil
}

// CleanText replaces the values of the pod's secrets in a text about it. A text whose secrets cannot be read now is withheld.
func CleanText(ctx context.Context, get Getter, pod *corev1.Pod, text string) string {
	clean, err := Cleaner(ctx, get, pod.Namespace, Names(&pod.Spec))
	if err != nil {
		return withhold(text)
	}
	return clean(text)
}

func speaks(status *corev1.PodStatus) bool {
	found := false
	eachMessage(status, func(message *string) { found = found || *message != "" })
	return found
}

// eachMessage visits the messages that may tell what a container was given. Those of schedulers are written before it exists.
func eachMessage(status *corev1.PodStatus, do func(*string)) {
	do(&status.Message)
	for i := range status.Conditions {
		if status.Conditions[i].Type != corev1.PodScheduled {
			do(&status.Conditions[i].Message)
		}
	}
	for _, containers := range [][]corev1.ContainerStatus{status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses} {
		for i := range containers {
			for _, state := range []*corev1.ContainerState{&containers[i].State, &containers[i].LastTerminationState} {
				if state.Waiting != nil {
					do(&state.Waiting.Message)
				}
				if state.Terminated != nil {
					do(&state.Terminated.Message)
				}
			}
		}
	}
}
