package failure

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// OfPod classifies a failed pod by what the cluster says of the pod itself; nil when only its containers can tell. The
// cluster's own reasons come first: a process that was told to stop ends in many ways.
func OfPod(pod *corev1.Pod) *Failure {
	detail := podDetail(pod)
	if disruption := disruptionOf(pod); disruption != nil {
		return disruption
	}
	switch pod.Status.Reason {
	case "Evicted":
		if strings.Contains(pod.Status.Message, "storage") && strings.Contains(pod.Status.Message, "exceed") &&
			strings.Contains(pod.Status.Message, "limit") {
			return New(StorageExceeded, detail)
		}
		return New(Evicted, detail)
	case "DeadlineExceeded":
		return New(RuntimeExceeded, detail)
	case "Preempting", "Preempted":
		return New(Preemption, detail)
	case "Shutdown", "NodeShutdown", "Terminated", "NodeLost":
		return New(NodeLost, detail)
	case "NodeAffinity", "NodeSelectorMismatching", "UnexpectedAdmissionError", "TaintToleration", "NodePorts", "Taint":
		return New(NodeRefused, detail)
	}
	if strings.HasPrefix(pod.Status.Reason, "OutOf") {
		return New(NodeRefused, detail)
	}
	return nil
}

// disruptionOf reads the condition with which Kubernetes marks pods that it takes away.
func disruptionOf(pod *corev1.Pod) *Failure {
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
			return New(Preemption, detail)
		case "TerminationByKubelet":
			if pod.Status.Reason == "Evicted" {
				return nil // The reason of the pod says more.
			}
			return New(NodeLost, detail)
		case "DeletionByTaintManager", "DeletionByPodGC":
			return New(NodeLost, detail)
		default:
			return New(Evicted, detail)
		}
	}
	return nil
}

func podDetail(pod *corev1.Pod) string {
	parts := make([]string, 0, 2)
	for _, part := range []string{pod.Status.Reason, pod.Status.Message} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ": ")
}
