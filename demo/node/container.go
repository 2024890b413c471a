package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/demo/node/capacity"
	"github.com/flyte-binary/flyte-binary/demo/node/podlog"
	"github.com/flyte-binary/flyte-binary/demo/node/podvolume"
	"github.com/flyte-binary/flyte-binary/demo/node/process"
	"github.com/flyte-binary/flyte-binary/demo/node/shim"
	"github.com/flyte-binary/flyte-binary/internal/text/clip"
	"github.com/flyte-binary/flyte-binary/pods/podsecret"
)

// container is a container of a pod. What may change is guarded by the worker's lock.
type container struct {
	spec          *corev1.Container
	init, sidecar bool
	up            chan struct{} // closed when it has run for the first time, or cannot
	retired       chan struct{} // closed when a sidecar is no longer needed

	state    corev1.ContainerState
	last     corev1.ContainerState // how the run before this one ended
	restarts int32
	proc     *process.Process // of this run
	found    bool             // proc is of an earlier node and not followed yet
	plan     *podvolume.Plan  // mounts of this run
	lost     bool             // how it ended is unknown, or is the machine's fault
	byItself bool             // it ended as by a signal that no one else can have sent
	unready  bool             // a probe says so
	command  *process.Command // of this run; nil for a process of an earlier node
	port     string           // that this run has; empty for none
	notice   string           // what users should know of it although nothing has failed
	reason   string           // of the notice
}

// containersOf lists a pod's containers in the order of their start.
func containersOf(w *worker, pod *corev1.Pod) []*container {
	var all []*container
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		all = append(all, &container{spec: c, init: true, sidecar: capacity.IsSidecar(c), state: waiting("PodInitializing", "")})
	}
	reason := "ContainerCreating"
	if len(all) > 0 {
		reason = "PodInitializing"
	}
	for i := range pod.Spec.Containers {
		all = append(all, &container{spec: &pod.Spec.Containers[i], state: waiting(reason, "")})
	}
	for _, c := range all {
		c.up, c.retired = make(chan struct{}), make(chan struct{})
	}
	return all
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

// runDir is where one run of a container has its log and state.
func (w *worker) runDir(c *container, run int32) string {
	return filepath.Join(w.dir, "containers", c.spec.Name, strconv.Itoa(int(run)))
}

// take returns the process that an earlier node left, once.
func (w *worker) take(c *container) *process.Process {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !c.found {
		return nil
	}
	c.found = false
	return c.proc
}

func (w *worker) hasEnded(c *container) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return c.state.Terminated != nil
}

// begin starts a container. It waits for missing objects, and returns nil if the pod is stopped first or if the
// container can never start; then it counts as ended.
func (w *worker) begin(ctx context.Context, c *container) *process.Process {
	for pause := retryPause(0); ; pause = retryPause(pause) {
		if closed(w.stopped) || closed(c.retired) || ctx.Err() != nil {
			return nil
		}
		p, err := w.start(ctx, c)
		if err == nil {
			return p
		}
		w.release(c)
		var wait *waitError
		if !errors.As(err, &wait) {
			w.event(corev1.EventTypeWarning, "Failed", "Container "+c.spec.Name+": "+err.Error())
			w.cannotStart(c, err)
			return nil
		}
		if w.wait(c, wait) {
			w.event(corev1.EventTypeWarning, wait.event, "Container "+c.spec.Name+": "+wait.Error())
		}
		if wait.port != "" {
			if !w.untilFree(ctx, wait.port, wait.holder) {
				return nil
			}
		} else if !w.n.after(pause, w.stopped) {
			return nil
		}
	}
}

// wait sets the reason why a container is not started yet, and reports whether it is new.
func (w *worker) wait(c *container, why *waitError) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	old := c.state.Waiting
	if old != nil && old.Reason == why.reason && old.Message == why.Error() {
		return false
	}
	c.state = waiting(why.reason, why.Error())
	w.changed()
	return true
}

// cannotStart ends a container that never ran.
func (w *worker) cannotStart(c *container, err error) {
	now := metav1.NewTime(w.n.clk.Now())
	w.mu.Lock()
	c.state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: 128, Reason: "StartError", Message: err.Error(), StartedAt: now, FinishedAt: now, ContainerID: w.containerID(c),
	}}
	w.mu.Unlock()
	w.isUp(c)
	w.changed()
}

// await follows a process to its end. It returns false if the node stops first.
func (w *worker) await(ctx context.Context, c *container, p *process.Process) bool {
	select {
	case <-p.Started():
	case <-ctx.Done():
		return false
	}
	if state := p.State(); state.Phase == shim.Running {
		w.mu.Lock()
		c.state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(state.StartedAt)}}
		c.unready = c.spec.ReadinessProbe != nil || c.spec.StartupProbe != nil
		w.mu.Unlock()
		w.isUp(c)
		w.changed()
		w.probe(ctx, c, p)
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		return false
	}
	end, lost := w.endOf(c, p)
	if times, _ := p.Stops(); times > 0 {
		w.event(corev1.EventTypeWarning, reasonSupervisorStopped, fmt.Sprintf("Container %s: a signal stopped its supervisor %d times", c.spec.Name, times))
	}
	w.mu.Lock()
	c.state, c.lost, c.port = corev1.ContainerState{Terminated: &end}, lost, ""
	c.byItself = p.State().ByItself
	plan := c.plan
	c.plan = nil
	w.mu.Unlock()
	if plan != nil {
		plan.Release()
	}
	if end.Reason == "OOMKilled" {
		w.event(corev1.EventTypeWarning, "OOMKilled", end.Message)
	}
	w.isUp(c)
	w.changed()
	return true
}

// isUp releases the containers that wait for a sidecar.
func (w *worker) isUp(c *container) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.markUp()
}

// markUp is called with the worker's lock held.
func (c *container) markUp() {
	if !closed(c.up) {
		close(c.up)
	}
}

// endOf describes the end of a process as a container runtime does.
func (w *worker) endOf(c *container, p *process.Process) (end corev1.ContainerStateTerminated, lost bool) {
	state := p.State()
	end = corev1.ContainerStateTerminated{
		ExitCode: int32(state.ExitCode), Signal: int32(state.Signal), ContainerID: w.containerID(c), //nolint:gosec // small
		StartedAt: metav1.NewTime(state.StartedAt), FinishedAt: metav1.NewTime(state.FinishedAt),
	}
	switch {
	case state.Phase != shim.Exited:
		end.ExitCode, end.Reason = 137, "ContainerStatusUnknown"
		end.Message = "the process was lost together with its supervisor, so how it ended is not known"
		end.FinishedAt = metav1.NewTime(w.n.clk.Now())
		return end, true
	case state.StartError != "" && state.MachineFault:
		end.Reason, end.Message = "ContainerStatusUnknown", "the machine could not start any process for the container: "+state.StartError
		return end, true
	case state.StartError != "":
		end.Reason, end.Message = "StartError", state.StartError
		return end, false
	case state.OutOfMemory:
		end.Reason = "OOMKilled"
		end.Message = "the container used more than its memory limit of " + c.spec.Resources.Limits.Memory().String()
		return end, false
	case endedForStops(p):
		end.Reason = reasonSupervisorStopped
		end.Message = "a process of the container stopped the supervisor of the container with a signal, again and again; without it no limit holds"
		return end, false
	case state.ExitCode == 0:
		end.Reason = "Completed"
	default:
		end.Reason = "Error"
	}
	end.Message = terminationMessage(c.spec, p.Dir(), state.ExitCode)
	return end, false
}

// reasonSupervisorStopped is the reason of events and ends of containers that have stopped their supervisor.
const reasonSupervisorStopped = "SupervisorStopped"

func endedForStops(p *process.Process) bool {
	_, ended := p.Stops()
	return ended
}

// Limits of a container's termination message.
const (
	messageBytes  = 4096
	fallbackBytes = 2048
	fallbackLines = 80
)

// terminationMessage is the termination message of a container, or the end of its log.
func terminationMessage(c *corev1.Container, dir string, code int) string {
	raw, err := os.ReadFile(filepath.Join(dir, messageFile))
	if err == nil && len(raw) > 0 {
		return clip.Tail(string(raw), messageBytes)
	}
	if code != 0 && c.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError {
		return podlog.End(filepath.Join(dir, process.LogFile), fallbackBytes, fallbackLines)
	}
	return ""
}

// event records an event of the pod, without the values of its secrets.
func (w *worker) event(kind, reason, message string) {
	pod := w.pod()
	w.n.recorder.Event(pod, kind, reason, podsecret.CleanText(w.n.ctx, w.n.secret, pod, message))
}
