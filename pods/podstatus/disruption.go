package podstatus

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
)

// ofPod diagnoses a failed pod by what the cluster reports about the pod itself; nil when only its containers explain it. The
// cluster's reasons win over exit codes, since a process that is stopped may end in many ways.
func ofPod(pod *corev1.Pod) *failure.Failure {
	detail := podDetail(pod)
	if disruption := disruptionOf(pod); disruption != nil {
		return disruption
	}
	switch pod.Status.Reason {
	case "Evicted":
		// A kubelet evicts a pod for its own use of ephemeral storage with the same reason as for pressure on the node.
		// Only the message tells them apart, and only the first is the task's fault.
		if strings.Contains(pod.Status.Message, "storage") && strings.Contains(pod.Status.Message, "exceed") &&
			strings.Contains(pod.Status.Message, "limit") {
			return failure.New(failure.StorageExceeded, detail)
		}
		return failure.New(failure.Evicted, detail)
	case "DeadlineExceeded":
		return failure.New(failure.RuntimeExceeded, detail)
	case "Preempting", "Preempted":
		return failure.New(failure.Preemption, detail)
	case "Shutdown", "NodeShutdown", "Terminated", "NodeLost":
		return failure.New(failure.NodeLost, detail)
	case "NodeAffinity", "NodeSelectorMismatching", "UnexpectedAdmissionError", "TaintToleration", "NodePorts", "Taint":
		return failure.New(failure.NodeRefused, detail)
	}
	// OutOfcpu, OutOfmemory, OutOfpods and so on: the node had no room when the pod arrived.
	if strings.HasPrefix(pod.Status.Reason, "OutOf") {
		return failure.New(failure.NodeRefused, detail)
	}
	return nil
}

// disruptionOf reads the condition with which Kubernetes marks pods that it removes.
func disruptionOf(pod *corev1.Pod) *failure.Failure {
	for _, condition := range pod.Status.Conditions {
		if condition.Type != corev1.DisruptionTarget || condition.Status != corev1.ConditionTrue {
			continue
		}
		detail := condition.Reason
		if condition.Message != "" {
			detail += ": " + condition.Message
		}
		switch condition.Reason {
		case "PreemptionByScheduler":
			return failure.New(failure.Preemption, detail)
		case "TerminationByKubelet":
			if pod.Status.Reason == "Evicted" {
				return nil // The reason of the pod is more specific.
			}
			return failure.New(failure.NodeLost, detail)
		case "DeletionByTaintManager", "DeletionByPodGC":
			return failure.New(failure.NodeLost, detail)
		default:
			return failure.New(failure.Evicted, detail)
		}
	}
	return nil
}

// podDetail is what the cluster says about a pod, for the message of a failure.
func podDetail(pod *corev1.Pod) string {
	parts := make([]string, 0, 2)
	for _, part := range []string{pod.Status.Reason, pod.Status.Message} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ": ")
}
