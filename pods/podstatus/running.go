package podstatus

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
)

// Running is the state of a pod that runs until it is stopped.
type Running struct {
	// Word is the state in one word, as kubectl shows it.
	Word string
	// Ready means that the pod accepts requests.
	Ready bool
	// Why says why it is not ready; nil when nothing is wrong, or not yet known to be.
	Why *failure.Failure
	// ForGood means that waiting does not help.
	ForGood bool
	// Recheck is when to look again although nothing changes; 0 means never.
	Recheck time.Duration
	// Restarts counts how often the container was started again.
	Restarts int32
	// StartedAt is the start of the container's process; zero while there is none.
	StartedAt time.Time
}

// hopelessRestarts is how many failed starts in a row mean that the next one fails, too. Fewer would give up on a
// program that waits for its database.
const hopelessRestarts = 3

// slowListener is how long a process may run without accepting connections before that is worth saying. Most
// programs need a moment; one that loads a model needs longer.
const slowListener = 10 * time.Second

// ObserveRunning reads the state of a pod whose container of this name is started again whenever it ends. A container that ended
// by itself is always wrong here, whatever its exit code.
func (r *Reader) ObserveRunning(pod *corev1.Pod, name string) Running {
	now := r.clock.Now()
	result := Running{Word: string(pod.Status.Phase)}
	status := statusOf(pod.Status.ContainerStatuses, name)
	if status != nil {
		result.Restarts = status.RestartCount
		result.StartedAt, _ = span(status)
	}
	ready := conditionOf(pod, corev1.PodReady)
	result.Ready = ready != nil && ready.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil
	switch {
	case pod.DeletionTimestamp != nil:
		result.Word = "Terminating"
	case pod.Status.Phase == corev1.PodFailed, pod.Status.Phase == corev1.PodSucceeded:
		if pod.Status.Reason != "" {
			result.Word = pod.Status.Reason
		}
		result.Why = ofFailedPod(pod)
	case result.Ready:
	case status != nil && status.State.Running != nil:
		result.ofSilent(status, now)
	case status != nil && status.State.Terminated != nil:
		result.ofEnded(name, status.State.Terminated, status.RestartCount)
	case status != nil && status.State.Waiting != nil && status.State.Waiting.Reason == "CrashLoopBackOff":
		result.ofCrash(name, status)
	case pod.Spec.NodeName == "":
		result.ofUnscheduled(pod, now)
	default:
		r.ofStarting(&result, pod, now)
	}
	return result
}

// ofSilent looks at a process that runs and is not ready.
func (s *Running) ofSilent(status *corev1.ContainerStatus, now time.Time) {
	if end := status.LastTerminationState.Terminated; end != nil {
		s.ofEnded(status.Name, end, status.RestartCount)
		s.ForGood = false // it runs again
		return
	}
	if left := status.State.Running.StartedAt.Add(slowListener).Sub(now); left > 0 {
		s.Recheck = left
		return
	}
	s.Why = failure.New(failure.NotListening, "")
}

// ofCrash looks at a container that waits to be started again.
func (s *Running) ofCrash(name string, status *corev1.ContainerStatus) {
	s.Word = status.State.Waiting.Reason
	end := status.LastTerminationState.Terminated
	if end == nil {
		s.Why = failure.New(failure.ContainerFailed, status.State.Waiting.Message)
		return
	}
	word := s.Word
	s.ofEnded(name, end, status.RestartCount)
	s.Word = word
}

// ofEnded diagnoses the end of a process that should run.
func (s *Running) ofEnded(name string, end *corev1.ContainerStateTerminated, restarts int32) {
	s.Word = end.Reason
	if s.Word == "" {
		s.Word = "Error"
	}
	s.Why = ofContainer(name, end)
	if s.Why == nil {
		s.Why = failure.New(failure.ContainerFailed, exitDetail(name, end)+"; a program that serves must not end")
	}
	s.ForGood = s.Why.Reason == failure.StartError || restarts >= hopelessRestarts
}

// ofUnscheduled looks at a pod without a node. No scheduler has looked at a very young one yet.
func (s *Running) ofUnscheduled(pod *corev1.Pod, now time.Time) {
	s.Word = "Pending"
	condition := conditionOf(pod, corev1.PodScheduled)
	switch {
	case condition != nil && condition.Status == corev1.ConditionFalse:
		s.Why = failure.New(failure.NoRoom, condition.Message)
	case pod.CreationTimestamp.Add(slowListener).After(now):
		s.Recheck = pod.CreationTimestamp.Add(slowListener).Sub(now)
	default:
		s.Why = failure.New(failure.NoRoom, fmt.Sprintf("waiting for a node (pod %s not scheduled yet)", pod.Name))
	}
}

// ofStarting looks at a pod whose containers wait.
func (r *Reader) ofStarting(result *Running, pod *corev1.Pod, now time.Time) {
	since := pod.CreationTimestamp.Time
	if condition := conditionOf(pod, corev1.PodScheduled); condition != nil {
		since = condition.LastTransitionTime.Time
	}
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, status := range statuses {
			if end := status.State.Terminated; end != nil && end.ExitCode != 0 {
				result.ofEnded(status.Name, end, status.RestartCount)
				return
			}
			waiting := status.State.Waiting
			if waiting == nil {
				continue
			}
			if waiting.Reason == "CrashLoopBackOff" {
				result.ofCrash(status.Name, &status)
				return
			}
			if result.Word == string(pod.Status.Phase) && waiting.Reason != "" {
				result.Word = waiting.Reason
			}
			lost, grace := ofWaiting(status.Name, waiting, r.config.Grace)
			if lost == nil {
				continue
			}
			result.Why, result.Word = lost, waiting.Reason
			if left := since.Add(grace).Sub(now); left > 0 && !strings.Contains(waiting.Reason, "Invalid") {
				result.Recheck = left
			} else {
				result.ForGood = true
			}
			return
		}
	}
}

// Restarts returns how often the kubelet started a container of a pod again, and how it ended the last time, in words.
func Restarts(pod *corev1.Pod, name string) (count int32, why string) {
	status := statusOf(pod.Status.ContainerStatuses, name)
	if status == nil || status.RestartCount == 0 {
		return 0, ""
	}
	if end := status.LastTerminationState.Terminated; end != nil {
		why = exitDetail(name, end)
	}
	return status.RestartCount, why
}
