package node

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/demo/node/podnet"
)

// verdict is how a pod has ended.
type verdict struct {
	phase           corev1.PodPhase
	reason, message string
	disruption      string // reason of the condition that marks an end that was not the pod's own
}

// decide determines how the pod ended, once nothing of it runs.
func (w *worker) decide() {
	w.mu.Lock()
	w.verdict = w.judgePod()
	w.mu.Unlock()
	close(w.decided)
}

// judgePod is called with the lock held.
func (w *worker) judgePod() *verdict {
	var lost *container
	well, interrupted := true, false
	for _, c := range w.containers {
		if c.sidecar {
			continue
		}
		end := c.state.Terminated
		if c.lost {
			lost = c
		}
		if end == nil || end.ExitCode != 0 {
			well = false
		}
		if end == nil || (w.stop != nil && end.FinishedAt.After(w.stop.at)) {
			interrupted = true
		}
	}
	switch {
	case w.stop != nil && w.stop.reason == stopShutdown && interrupted:
		return &verdict{
			phase: corev1.PodFailed, reason: "Terminated", disruption: corev1.PodReasonTerminationByKubelet,
			message: "the local node was stopped while the pod was running",
		}
	case w.stop != nil && w.stop.reason == stopDeadline && interrupted:
		return &verdict{
			phase: corev1.PodFailed, reason: "DeadlineExceeded",
			message: "the pod was active for longer than its deadline allows",
		}
	case lost != nil && w.stop == nil:
		return &verdict{
			phase: corev1.PodFailed, reason: "NodeLost",
			message: "container " + lost.spec.Name + ": " + lost.state.Terminated.Message,
		}
	case well:
		return &verdict{phase: corev1.PodSucceeded}
	}
	return &verdict{phase: corev1.PodFailed}
}

// status is the pod's status as of now, and whether it is the last one.
func (w *worker) status() (corev1.PodStatus, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	started := w.started
	status := corev1.PodStatus{
		Phase: w.phase(), StartTime: &started, HostIP: w.n.cfg.Address, HostIPs: []corev1.HostIP{{IP: w.n.cfg.Address}},
	}
	status.PodIP = podnet.IP(w.latest, w.n.cfg.Address)
	status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	ready := w.verdict == nil
	for _, c := range w.containers {
		report := w.containerStatus(c)
		if c.init {
			status.InitContainerStatuses = append(status.InitContainerStatuses, report)
		} else {
			status.ContainerStatuses = append(status.ContainerStatuses, report)
		}
		ready = ready && (report.Ready || (c.init && !c.sidecar))
	}
	ready = ready && w.initDone
	reason := ""
	switch {
	case w.verdict == nil:
		if !ready {
			reason = "ContainersNotReady"
		}
	case w.verdict.phase == corev1.PodSucceeded:
		reason = "PodCompleted"
	default:
		reason = "PodFailed"
	}
	initialized := ""
	if !w.initDone {
		initialized = "ContainersNotInitialized"
	} else if w.verdict != nil && w.verdict.phase == corev1.PodSucceeded {
		initialized = "PodCompleted"
	}
	status.Conditions = []corev1.PodCondition{
		w.condition(corev1.PodReadyToStartContainers, w.verdict == nil, "", ""),
		w.condition(corev1.PodInitialized, w.initDone, initialized, ""),
		w.condition(corev1.PodReady, ready, reason, ""),
		w.condition(corev1.ContainersReady, ready, reason, ""),
		w.condition(corev1.PodScheduled, true, "", ""),
	}
	if reason, notice := w.notice(); notice != "" {
		status.Conditions = append(status.Conditions, w.condition(conditionNotice, true, reason, notice))
	}
	if name := w.endedByItself(); name != "" {
		status.Conditions = append(status.Conditions, w.condition(conditionByItself, true, "Signal", name))
	}
	if w.verdict != nil {
		status.Reason, status.Message = w.verdict.reason, w.verdict.message
		if w.verdict.disruption != "" {
			status.Conditions = append(status.Conditions,
				w.condition(corev1.DisruptionTarget, true, w.verdict.disruption, w.verdict.message))
		}
	}
	return status, w.verdict != nil
}

// conditionNotice tells the executor, which shows it on the action, what users should know although nothing has failed.
const conditionNotice corev1.PodConditionType = "flyte.org/Notice"

// conditionByItself tells the executor which container ended as by a signal that neither the node nor the kernel sent: real nodes
// do not know that.
const conditionByItself corev1.PodConditionType = "flyte.org/EndedByItself"

// endedByItself is the name of the first such container; empty if there is none. Called with the lock held.
func (w *worker) endedByItself() string {
	for _, c := range w.containers {
		if c.byItself && w.stop == nil && c.spec.Image != w.n.cfg.OwnImage { // this program does not end itself
			return c.spec.Name
		}
	}
	return ""
}

// notice is what the containers' images give reason to say, with the first reason. Called with the lock held.
func (w *worker) notice() (reason, text string) {
	var lines []string
	if _, own := podnet.Address(w.latest); own {
		lines, reason = append(lines, podnet.Notice(w.latest)), podnet.Reason
	}
	for _, c := range w.containers {
		if c.notice != "" && !slices.Contains(lines, c.notice) {
			lines = append(lines, c.notice)
			reason = cmp.Or(reason, c.reason)
		}
	}
	return reason, strings.Join(lines, "\n")
}

// phase derives the phase of the pod from its containers. Called with the lock held.
func (w *worker) phase() corev1.PodPhase {
	if w.verdict != nil {
		return w.verdict.phase
	}
	if !w.initDone {
		return corev1.PodPending
	}
	for _, c := range w.containers {
		if !c.init && (c.state.Waiting == nil || c.restarts > 0) {
			return corev1.PodRunning
		}
	}
	return corev1.PodPending
}

// condition keeps the time of the last change. Called with the lock held.
func (w *worker) condition(kind corev1.PodConditionType, is bool, reason, message string) corev1.PodCondition {
	status := corev1.ConditionFalse
	if is {
		status = corev1.ConditionTrue
	}
	c := corev1.PodCondition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(w.n.clk.Now())}
	if last, known := w.conditions[kind]; known && last.Status == status {
		c.LastTransitionTime = last.LastTransitionTime
	}
	w.conditions[kind] = c
	return c
}

// containerStatus is called with the lock held.
func (w *worker) containerStatus(c *container) corev1.ContainerStatus {
	status := corev1.ContainerStatus{
		Name: c.spec.Name, Image: c.spec.Image, ImageID: w.imageID(c), RestartCount: c.restarts,
		State: *c.state.DeepCopy(), LastTerminationState: *c.last.DeepCopy(),
	}
	started := c.state.Running != nil
	status.Started = &started
	switch {
	case c.init && !c.sidecar:
		status.Ready = c.state.Terminated != nil && c.state.Terminated.ExitCode == 0
	default:
		status.Ready = started && !c.unready
	}
	if c.state.Waiting == nil || c.restarts > 0 {
		status.ContainerID = w.containerID(c)
	}
	return status
}

// imageID names the directory that replaced the image.
func (w *worker) imageID(c *container) string {
	if c.state.Waiting != nil && c.restarts == 0 {
		return ""
	}
	if dir, _ := w.n.cfg.environmentFor(c.spec.Image); dir != "" {
		return "process://" + dir
	}
	return "process://machine"
}
