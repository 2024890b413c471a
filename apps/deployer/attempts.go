package deployer

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

// sealing is a log that is to be copied: that of a pod that ends, or of an earlier run of its container. A cluster has only the
// last of those, and only until the next one ends; in a crash loop it is the one that says why.
type sealing struct {
	pod *corev1.Pod
	// attempt counts the runs of the container from 1; 0 means the last one, with which the pod ends.
	attempt int32
}

// name is the name under which the log is kept, like that of a replica.
func (s sealing) name() string {
	if s.attempt == 0 {
		return s.pod.Name
	}
	return fmt.Sprintf("%s.attempt-%d", s.pod.Name, s.attempt)
}

// earlier returns the run before the current one of a pod's container, if there is one whose log the cluster has. While a
// container of a cluster waits to be started again, its last run is still the current one; the local node counts it as an
// earlier one at once.
func earlier(pod *corev1.Pod, local bool) (sealing, bool) {
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		if status.Name != primary || status.RestartCount == 0 || status.LastTerminationState.Terminated == nil {
			continue
		}
		return sealing{pod: pod, attempt: status.RestartCount}, local || status.State.Waiting == nil
	}
	return sealing{}, false
}

// ended is what is reported of a run of which only the log is left, so that its log is found.
func (s sealing) ended(uri string) *enginev1.ObservedReplica {
	replica := ended(s.pod, uri)
	if s.attempt == 0 {
		return replica
	}
	replica.Name, replica.Restarts = s.name(), uint32(s.attempt-1) //nolint:gosec // counts from 1
	for i := range s.pod.Status.ContainerStatuses {
		if status := &s.pod.Status.ContainerStatuses[i]; status.Name == primary && status.LastTerminationState.Terminated != nil {
			end := status.LastTerminationState.Terminated
			replica.Reason = fmt.Sprintf("attempt %d of %s ended with exit code %d", s.attempt, s.pod.Name, end.ExitCode)
			replica.StartedAt = timeOf(end.StartedAt)
		}
	}
	return replica
}
