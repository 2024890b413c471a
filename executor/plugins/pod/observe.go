package pod

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/executor/failure"
	"github.com/flyte-binary/flyte-binary/executor/plugin"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
)

const (
	// schedulerPause is how long a new pod may be without any word of a scheduler before that is worth telling.
	schedulerPause = time.Second
	// terminatingSlack is how long after its grace a pod may stay in deletion before its node counts as lost.
	terminatingSlack = time.Minute
)

// observe reads the state of an attempt from its pod.
func (p *Plugin) observe(attempt *plugin.Attempt, pod *corev1.Pod) plugin.State {
	now := p.deps.Clock.Now()
	state := plugin.State{Object: pod.UID, Stopping: pod.DeletionTimestamp != nil}
	primary := statusOf(pod.Status.ContainerStatuses, PrimaryName(attempt.Template))
	if primary != nil {
		state.StartedAt, state.EndedAt = span(primary)
	}
	switch {
	case primary != nil && primary.State.Terminated != nil && (failedByItself(primary) || !awaitsSidecars(pod)):
		ofEnd(&state, pod, primary)
		state.Settled = uploads(attempt.Template)
	case pod.Status.Phase == corev1.PodFailed:
		fail(&state, ofFailedPod(pod))
	case pod.Status.Phase == corev1.PodSucceeded && primary == nil && find(&pod.Spec, PrimaryName(attempt.Template)) == nil:
		fail(&state, failure.New(failure.PrimaryContainerNotFound, "%q", PrimaryName(attempt.Template)))
	case pod.Status.Phase == corev1.PodSucceeded:
		state.Phase = common.ActionPhase_ACTION_PHASE_SUCCEEDED
	case pod.DeletionTimestamp != nil && now.After(pod.DeletionTimestamp.Add(terminatingSlack)):
		fail(&state, failure.New(failure.NodeLost, "the pod's deletion is overdue"))
	case primary != nil && primary.State.Terminated != nil:
		state.Phase = common.ActionPhase_ACTION_PHASE_RUNNING
		state.Reason, state.Message = "Finishing", "the container has ended; helpers of the pod carry its outputs away"
	case primary != nil && primary.State.Running != nil:
		state.Phase = common.ActionPhase_ACTION_PHASE_RUNNING
	default:
		p.ofPending(&state, pod, now)
	}
	if pod.DeletionTimestamp != nil && state.Failure == nil && state.Recheck == 0 {
		state.Recheck = max(time.Second, pod.DeletionTimestamp.Add(terminatingSlack).Sub(now)+time.Second)
	}
	state.LogContext = logContext(pod, PrimaryName(attempt.Template))
	if state.Phase != common.ActionPhase_ACTION_PHASE_QUEUED {
		state.LogLinks = p.logLinks(attempt, pod, state)
	}
	return state
}

// ofEnd judges the end of the primary container.
func ofEnd(state *plugin.State, pod *corev1.Pod, primary *corev1.ContainerStatus) {
	end := primary.State.Terminated
	own := failure.OfContainer(primary.Name, end)
	if own == nil {
		state.Phase = common.ActionPhase_ACTION_PHASE_SUCCEEDED
		return
	}
	if cluster := failure.OfPod(pod); cluster != nil {
		own = cluster
	} else if pod.DeletionTimestamp != nil && own.Reason != failure.OOMKilled {
		own = failure.New(failure.UnexpectedDeletion, own.Message)
	}
	fail(state, own)
}

// ofFailedPod judges a pod that failed although its primary container did not end.
func ofFailedPod(pod *corev1.Pod) *failure.Failure {
	if cluster := failure.OfPod(pod); cluster != nil {
		return cluster
	}
	for _, status := range byBlame(pod) {
		end := status.State.Terminated
		if end == nil {
			continue
		}
		own := failure.OfContainer(status.Name, end)
		switch {
		case own == nil:
		case status.Name == downloaderName, status.Name == uploaderName:
			return failure.New(failure.CopilotFailed, own.Message)
		default:
			return own
		}
	}
	return failure.New(failure.UnknownError, "%s %s", pod.Status.Reason, pod.Status.Message)
}

func (p *Plugin) ofPending(state *plugin.State, pod *corev1.Pod, now time.Time) {
	if pod.Spec.NodeName == "" && len(pod.Status.ContainerStatuses) == 0 {
		ofUnscheduled(state, pod, now)
		return
	}
	state.Phase = common.ActionPhase_ACTION_PHASE_INITIALIZING
	since := pod.CreationTimestamp.Time
	if condition := conditionOf(pod, corev1.PodScheduled); condition != nil {
		since = condition.LastTransitionTime.Time
	}
	if p.stuck(state, pod.Status.InitContainerStatuses, since, now) {
		return
	}
	if condition := conditionOf(pod, corev1.PodInitialized); condition != nil && condition.Status == corev1.ConditionTrue {
		since = condition.LastTransitionTime.Time
	}
	p.stuck(state, pod.Status.ContainerStatuses, since, now)
}

// stuck looks for the first container that waits for something bad.
func (p *Plugin) stuck(state *plugin.State, statuses []corev1.ContainerStatus, since, now time.Time) bool {
	for _, status := range statuses {
		waiting := status.State.Waiting
		if waiting == nil {
			continue
		}
		lost, grace := failure.OfWaiting(status.Name, waiting, p.config.Grace)
		if lost == nil {
			state.Reason, state.Message = waiting.Reason, waiting.Message
			continue
		}
		if left := since.Add(grace).Sub(now); left > 0 {
			state.Reason, state.Message, state.Recheck = waiting.Reason, lost.Message, left
		} else {
			fail(state, lost)
		}
		return true
	}
	return false
}

func ofUnscheduled(state *plugin.State, pod *corev1.Pod, now time.Time) {
	state.Phase = common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES
	if condition := conditionOf(pod, corev1.PodScheduled); condition != nil && condition.Status == corev1.ConditionFalse {
		state.Reason, state.Message = condition.Reason, condition.Message
		return
	}
	if left := pod.CreationTimestamp.Add(schedulerPause).Sub(now); left > 0 {
		state.Phase, state.Recheck = common.ActionPhase_ACTION_PHASE_QUEUED, left
		return
	}
	state.Reason, state.Message = "Pending", fmt.Sprintf("pod %s waits for a scheduler", pod.Name)
}

func fail(state *plugin.State, f *failure.Failure) {
	state.Phase, state.Failure = common.ActionPhase_ACTION_PHASE_FAILED, f
}

// byBlame orders containers by who may have made the pod fail: sidecars are ended with the others and come last.
func byBlame(pod *corev1.Pod) []corev1.ContainerStatus {
	var first, last []corev1.ContainerStatus
	for _, status := range pod.Status.InitContainerStatuses {
		if isSidecar(pod, status.Name) {
			last = append(last, status)
		} else {
			first = append(first, status)
		}
	}
	return append(append(first, pod.Status.ContainerStatuses...), last...)
}

// failedByItself says that a container's own end decides: nothing that helpers still do can mend it.
func failedByItself(primary *corev1.ContainerStatus) bool {
	return primary.State.Terminated.ExitCode != 0
}

// awaitsSidecars says that helpers of the pod still work after the primary container, such as an upload of its outputs.
func awaitsSidecars(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return false
	}
	for _, container := range pod.Spec.InitContainers {
		if isSidecar(pod, container.Name) {
			return true
		}
	}
	return false
}

// isSidecar tells of an init container whether it runs beside the others.
func isSidecar(pod *corev1.Pod, name string) bool {
	for _, container := range pod.Spec.InitContainers {
		if container.Name == name {
			return container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways
		}
	}
	return false
}

func statusOf(statuses []corev1.ContainerStatus, name string) *corev1.ContainerStatus {
	for i := range statuses {
		if statuses[i].Name == name {
			return &statuses[i]
		}
	}
	return nil
}

func conditionOf(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

// span is when a container's process started and ended; zero where it did not.
func span(status *corev1.ContainerStatus) (started, ended time.Time) {
	switch {
	case status.State.Running != nil:
		return status.State.Running.StartedAt.Time, time.Time{}
	case status.State.Terminated != nil:
		return status.State.Terminated.StartedAt.Time, status.State.Terminated.FinishedAt.Time
	}
	return time.Time{}, time.Time{}
}
