package podstatus

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

const (
	// schedulerPause is how long a new pod may go without a scheduler's condition before that is reported. Schedulers
	// set it within milliseconds; without the pause, each start would show a wait for resources.
	schedulerPause = time.Second
	// terminatingSlack is how long after its grace a pod may remain in deletion before its node counts as lost. A
	// kubelet that works needs seconds for this.
	terminatingSlack = time.Minute
	// noticeCondition is the condition with which a node says something about a pod although nothing has failed.
	noticeCondition corev1.PodConditionType = "flyte.org/Notice"
	// localCluster is the reason of the notice that a pod runs as a part of a cluster of processes on one machine.
	localCluster = "LocalCluster"
	// byItselfCondition is the condition with which a node says that it knows who ended a container as by a signal: the container
	// that the message names.
	byItselfCondition corev1.PodConditionType = "flyte.org/EndedByItself"
)

// Reader reads the states of attempts from their pods. It is safe for concurrent use.
type Reader struct {
	config podspec.Config
	clock  clock.Clock
}

// NewReader returns a reader, which uses the graces and the log links of the configuration.
func NewReader(config podspec.Config, clk clock.Clock) *Reader {
	return &Reader{config: config, clock: clk}
}

// Observe returns the state of an attempt that runs as this pod. Object is the uid of the pod. The order of the cases
// is that of certainty: the end of the primary container, then the end of the pod, then an overdue deletion, then what
// runs or waits.
func (r *Reader) Observe(attempt *plugin.Attempt, pod *corev1.Pod) plugin.State {
	now, primaryName := r.clock.Now(), podspec.PrimaryName(attempt.Template)
	state := plugin.State{Object: pod.UID, Stopping: pod.DeletionTimestamp != nil}
	primary := statusOf(pod.Status.ContainerStatuses, primaryName)
	if primary != nil {
		state.StartedAt, state.EndedAt = span(primary)
	}
	switch {
	case primary != nil && primary.State.Terminated != nil && (failedByItself(primary) || !awaitsSidecars(pod)):
		ofEnd(&state, pod, primary)
		state.Settled = podspec.Uploads(attempt.Template)
	case pod.Status.Phase == corev1.PodFailed:
		state.Fail(ofFailedPod(pod))
	case pod.Status.Phase == corev1.PodSucceeded && primary == nil && !hasContainer(pod, primaryName):
		state.Fail(failure.New(failure.PrimaryContainerNotFound, "%q", primaryName))
	case pod.Status.Phase == corev1.PodSucceeded:
		state.Phase = common.ActionPhase_ACTION_PHASE_SUCCEEDED
	case pod.DeletionTimestamp != nil && now.After(pod.DeletionTimestamp.Add(terminatingSlack)):
		state.Fail(failure.New(failure.NodeLost, "the pod's deletion is overdue"))
	case primary != nil && primary.State.Terminated != nil:
		state.Phase = common.ActionPhase_ACTION_PHASE_RUNNING
		state.Reason, state.Message = "Finishing", sentence.Say("the container has ended; sidecars of the pod upload its outputs")
	case primary != nil && primary.State.Running != nil:
		state.Phase = common.ActionPhase_ACTION_PHASE_RUNNING
	default:
		r.ofPending(&state, pod, now)
	}
	if state.Phase == common.ActionPhase_ACTION_PHASE_SUCCEEDED {
		state.Stopped = stoppedBy(pod, state.EndedAt)
	}
	if pod.DeletionTimestamp != nil && state.Failure == nil && state.Recheck == 0 {
		state.Recheck = max(time.Second, pod.DeletionTimestamp.Add(terminatingSlack).Sub(now)+time.Second)
	}
	if condition := conditionOf(pod, noticeCondition); condition != nil && condition.Status == corev1.ConditionTrue {
		state.Notice = plugin.Notice{
			Reason: condition.Reason, Message: condition.Message, At: condition.LastTransitionTime.Time, Expected: condition.Reason == localCluster,
		}
	}
	state.LogContext = logContext(pod, primaryName)
	if state.Phase != common.ActionPhase_ACTION_PHASE_QUEUED {
		state.LogLinks = r.logLinks(attempt, pod, state)
	}
	return state
}

// ofEnd diagnoses the end of the primary container.
func ofEnd(state *plugin.State, pod *corev1.Pod, primary *corev1.ContainerStatus) {
	end := primary.State.Terminated
	own := ofContainer(primary.Name, end)
	if own == nil {
		state.Phase = common.ActionPhase_ACTION_PHASE_SUCCEEDED
		return
	}
	if cluster := ofPod(pod); cluster != nil {
		own = cluster
	} else if pod.DeletionTimestamp != nil && own.Reason != failure.OOMKilled {
		own = failure.New(failure.UnexpectedDeletion, own.Message)
	} else if own.Reason == failure.Killed || own.Reason == failure.Terminated {
		if known := conditionOf(pod, byItselfCondition); known != nil && known.Status == corev1.ConditionTrue && known.Message == primary.Name {
			own = failure.New(failure.Signalled, "it was sent by the task itself: "+exitDetail(primary.Name, end))
		}
	}
	state.Fail(own)
}

// Stopped returns what stops a pod that is being deleted; nil for any other pod.
func Stopped(pod *corev1.Pod) *failure.Failure {
	if pod.DeletionTimestamp == nil {
		return nil
	}
	return stoppedBy(pod, time.Time{})
}

// StoppedAt returns when the deletion of a pod was asked for; zero if it was not.
func StoppedAt(pod *corev1.Pod) time.Time {
	if pod.DeletionTimestamp == nil {
		return time.Time{}
	}
	asked := pod.DeletionTimestamp.Time
	if grace := pod.DeletionGracePeriodSeconds; grace != nil {
		asked = asked.Add(-time.Duration(*grace) * time.Second)
	}
	return asked
}

// stoppedBy is what stopped a process that exited with 0; nil if it ended by itself, or before the pod was deleted.
func stoppedBy(pod *corev1.Pod, ended time.Time) *failure.Failure {
	if cluster := ofPod(pod); cluster != nil {
		return cluster
	}
	if pod.DeletionTimestamp == nil {
		return nil
	}
	if !ended.IsZero() && ended.Add(time.Second).Before(StoppedAt(pod)) {
		return nil
	}
	return failure.New(failure.UnexpectedDeletion, "")
}

// ofFailedPod diagnoses a pod that failed although its primary container did not end.
func ofFailedPod(pod *corev1.Pod) *failure.Failure {
	if cluster := ofPod(pod); cluster != nil {
		return cluster
	}
	for _, status := range byBlame(pod) {
		end := status.State.Terminated
		if end == nil {
			continue
		}
		own := ofContainer(status.Name, end)
		switch {
		case own == nil:
		case podspec.IsCopilot(status.Name):
			return failure.New(failure.CopilotFailed, own.Message)
		default:
			return own
		}
	}
	return failure.New(failure.UnknownError, "%s %s", pod.Status.Reason, pod.Status.Message)
}

// ofPending reads the state of a pod whose primary container has not started.
func (r *Reader) ofPending(state *plugin.State, pod *corev1.Pod, now time.Time) {
	if pod.Spec.NodeName == "" && len(pod.Status.ContainerStatuses) == 0 {
		ofUnscheduled(state, pod, now)
		return
	}
	state.Phase = common.ActionPhase_ACTION_PHASE_INITIALIZING
	since := pod.CreationTimestamp.Time
	if condition := conditionOf(pod, corev1.PodScheduled); condition != nil {
		since = condition.LastTransitionTime.Time
		state.Since = since
	}
	if r.stuck(state, pod.Status.InitContainerStatuses, since, now) {
		return
	}
	if condition := conditionOf(pod, corev1.PodInitialized); condition != nil && condition.Status == corev1.ConditionTrue {
		since = condition.LastTransitionTime.Time
	}
	if !r.stuck(state, pod.Status.ContainerStatuses, since, now) {
		r.unprepared(state, pod, now)
	}
}

// unprepared looks at a pod whose volumes or network are not ready: then its containers wait as in a normal start, and the kubelet says
// why in events only. Images are pulled later.
func (r *Reader) unprepared(state *plugin.State, pod *corev1.Pod, now time.Time) {
	condition := conditionOf(pod, corev1.PodReadyToStartContainers)
	if condition == nil || condition.Status != corev1.ConditionFalse {
		return
	}
	lost := failure.New(failure.ContainerStuck, "the volumes or the network of pod %s are not ready; a volume may name a ConfigMap, a Secret or a "+
		"claim that does not exist, which the events of the pod say", pod.Name)
	since := condition.LastTransitionTime.Time
	switch left := since.Add(r.config.Grace.Other).Sub(now); {
	case left <= 0:
		state.Fail(lost)
	case now.Before(since.Add(r.config.Grace.Config)):
		state.Recheck = since.Add(r.config.Grace.Config).Sub(now)
	default:
		state.Reason, state.Message, state.Recheck, state.Stuck = "PodNotPrepared", lost.Message, left, true
	}
}

// stuck looks for the first container whose wait is not part of a normal start.
func (r *Reader) stuck(state *plugin.State, statuses []corev1.ContainerStatus, since, now time.Time) bool {
	for _, status := range statuses {
		waiting := status.State.Waiting
		if waiting == nil {
			continue
		}
		lost, grace := ofWaiting(status.Name, waiting, r.config.Grace)
		if lost == nil {
			state.Reason, state.Message = waiting.Reason, waiting.Message
			continue
		}
		if left := since.Add(grace).Sub(now); left > 0 {
			state.Reason, state.Message, state.Recheck, state.Stuck = waiting.Reason, lost.Message, left, true
		} else {
			state.Fail(lost)
		}
		return true
	}
	return false
}

// ofUnscheduled reads the state of a pod without a node.
func ofUnscheduled(state *plugin.State, pod *corev1.Pod, now time.Time) {
	state.Phase, state.Since = common.ActionPhase_ACTION_PHASE_WAITING_FOR_RESOURCES, pod.CreationTimestamp.Time
	if condition := conditionOf(pod, corev1.PodScheduled); condition != nil && condition.Status == corev1.ConditionFalse {
		state.Reason, state.Message = condition.Reason, condition.Message
		return
	}
	if left := pod.CreationTimestamp.Add(schedulerPause).Sub(now); left > 0 {
		state.Phase, state.Recheck = common.ActionPhase_ACTION_PHASE_QUEUED, left
		return
	}
	state.Reason, state.Message = "Pending", sentence.Say("waiting for a node (pod %s not scheduled yet)", pod.Name)
}

// byBlame orders containers by how likely they made the pod fail: sidecars are stopped with the others and come last.
func byBlame(pod *corev1.Pod) []corev1.ContainerStatus {
	var first, last []corev1.ContainerStatus
	for _, status := range pod.Status.InitContainerStatuses {
		if IsSidecar(pod, status.Name) {
			last = append(last, status)
		} else {
			first = append(first, status)
		}
	}
	return append(append(first, pod.Status.ContainerStatuses...), last...)
}

// failedByItself reports whether the container's own exit code decides: sidecars can no longer change the outcome.
func failedByItself(primary *corev1.ContainerStatus) bool {
	return primary.State.Terminated.ExitCode != 0
}

// awaitsSidecars reports whether sidecars may still work after the end of the primary container, such as upload
// outputs.
func awaitsSidecars(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return false
	}
	for _, container := range pod.Spec.InitContainers {
		if IsSidecar(pod, container.Name) {
			return true
		}
	}
	return false
}

// IsSidecar reports whether an init container runs for as long as the pod.
func IsSidecar(pod *corev1.Pod, name string) bool {
	for _, container := range pod.Spec.InitContainers {
		if container.Name == name {
			return container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways
		}
	}
	return false
}

func hasContainer(pod *corev1.Pod, name string) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == name })
}

// statusOf is the status of a container; nil while the kubelet has not written one.
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

// span returns when a container's process started and ended; zero where it did not.
func span(status *corev1.ContainerStatus) (started, ended time.Time) {
	switch {
	case status.State.Running != nil:
		return status.State.Running.StartedAt.Time, time.Time{}
	case status.State.Terminated != nil:
		return status.State.Terminated.StartedAt.Time, status.State.Terminated.FinishedAt.Time
	}
	return time.Time{}, time.Time{}
}
