package node

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyte-binary/flyte-binary/attempts"
	"github.com/flyte-binary/flyte-binary/demo/node/process"
	"github.com/flyte-binary/flyte-binary/demo/node/shim"
)

// recover finds the containers of this pod that an earlier node started. A container that is started in the API and not
// found here is reported as lost.
func (w *worker) recover() {
	w.recallPort()
	pod := w.pod()
	reported := map[string]corev1.ContainerStatus{}
	for _, list := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, status := range list {
			reported[status.Name] = status
		}
	}
	for _, c := range w.containers {
		status, known := reported[c.spec.Name]
		run, exists := w.lastRun(c)
		if !exists {
			if known && (status.State.Running != nil || status.State.Terminated != nil) {
				w.presumeLost(c, status)
			}
			continue
		}
		w.attach(c, run)
	}
}

// lastRun is the number of a container's last run on this machine.
func (w *worker) lastRun(c *container) (run int32, exists bool) {
	entries, err := os.ReadDir(filepath.Dir(w.runDir(c, 0)))
	if err != nil {
		return 0, false
	}
	for _, entry := range entries {
		if number, err := strconv.ParseInt(entry.Name(), 10, 32); err == nil {
			run, exists = max(run, int32(number)), true
		}
	}
	return run, exists
}

// errStranded means that a process was ended because it could no longer have reached the server.
var errStranded = errors.New("the process knew another address of the server")

// stranded reports whether a container was made for a server at another address. The address may have a token in its path.
func (w *worker) stranded(c *container) bool {
	here := w.n.cfg.Endpoint
	return here != "" && slices.ContainsFunc(c.spec.Env, func(variable corev1.EnvVar) bool {
		return variable.Name == attempts.EndpointVariable && variable.Value != here && !strings.HasPrefix(variable.Value, attempts.URL(here, true)+"/")
	})
}

func (w *worker) attach(c *container, run int32) {
	dir := w.runDir(c, run)
	p, err := process.Attach(dir)
	if err == nil && w.stranded(c) && p.State().Phase == shim.Running {
		p.Kill()
		select {
		case <-p.Done():
			err = errStranded
		case <-w.n.ctx.Done():
			return
		}
	}
	port := w.fixedPort(c.spec)
	if given := w.givenPort(); given != "" && (port != "" || w.pod().Annotations[annotationTakesPort] == c.spec.Name) {
		port = given
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	c.restarts = run
	switch {
	case errors.Is(err, process.ErrNeverStarted):
		_ = os.RemoveAll(dir) // the run is created again
		return
	case err != nil:
		w.log.Error().Err(err).Str("container", c.spec.Name).Msg("container of an earlier run is lost")
		w.lose(c, metav1.Time{}, err.Error())
		return
	}
	c.proc, c.found, c.port = p, true, port
	if p.State().Phase == shim.Running && !closed(p.Done()) {
		c.plan = w.n.mounter.Hold(mountPaths(c.spec))
		w.log.Info().Str("container", c.spec.Name).Int("pid", p.State().PID).Msg("adopted a process of the previous node")
	}
}

// presumeLost adopts the end that was reported, or reports that the end is unknown.
func (w *worker) presumeLost(c *container, status corev1.ContainerStatus) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c.restarts = status.RestartCount
	if status.State.Terminated != nil {
		c.state = status.State
		c.markUp()
		return
	}
	w.lose(c, status.State.Running.StartedAt, "no trace of the process was found")
}

// lose ends a container whose fate is unknown. Called with the lock held.
func (w *worker) lose(c *container, startedAt metav1.Time, why string) {
	c.lost = true
	c.state = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: 137, Reason: "ContainerStatusUnknown", ContainerID: w.containerID(c), StartedAt: startedAt,
		FinishedAt: metav1.NewTime(w.n.clk.Now()),
		Message:    "the node was restarted: " + why,
	}}
	c.markUp()
}

// recall finds the logs of a pod that had ended before this node began.
func (w *worker) recall() {
	for _, c := range w.containers {
		run, exists := w.lastRun(c)
		if !exists {
			continue
		}
		p, err := process.Attach(w.runDir(c, run))
		if err != nil {
			continue
		}
		w.mu.Lock()
		c.proc, c.restarts = p, run
		w.mu.Unlock()
	}
}

// endOrphan ends the processes of a pod that was removed from the API while no node ran, and removes its files.
func (n *Node) endOrphan(dir string) {
	runs, err := filepath.Glob(filepath.Join(dir, "containers", "*", "*"))
	if err != nil {
		return
	}
	for _, run := range runs {
		p, err := process.Attach(run)
		if err != nil {
			continue
		}
		p.Kill()
		select {
		case <-p.Done():
		case <-n.ctx.Done():
			return
		}
	}
	n.freeDevices(filepath.Base(dir))
	errs := []error{n.volumes.RemoveAll(types.UID(filepath.Base(dir))), n.free(dir)}
	if err := errors.Join(errs...); err != nil {
		n.log.Warn().Err(err).Msg("cannot remove the files of an earlier pod")
	}
}
