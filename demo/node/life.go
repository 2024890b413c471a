package node

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// live runs the containers: init containers one after the other, sidecars among them for as long as the others run,
// then the rest together. It returns when all have ended or the node stops.
func (w *worker) live(ctx context.Context) {
	w.recover()
	w.changed()
	w.limitTime()

	var sidecars sync.WaitGroup
	var mains sync.WaitGroup
	defer func() {
		mains.Wait()
		w.retireSidecars(ctx)
		sidecars.Wait()
	}()
	for _, c := range w.containers {
		switch {
		case c.sidecar:
			sidecars.Go(func() { w.keep(ctx, c) })
			select {
			case <-c.up:
			case <-w.stopped:
				return
			case <-ctx.Done():
				return
			}
		case c.init:
			if !w.keep(ctx, c) || closed(w.stopped) {
				return
			}
		default:
			w.mu.Lock()
			w.initDone = true
			w.mu.Unlock()
			mains.Go(func() { w.keep(ctx, c) })
		}
	}
}

// keep runs a container, with restarts, until its end is final, and reports whether it succeeded.
func (w *worker) keep(ctx context.Context, c *container) bool {
	pause := w.n.cfg.RestartBackoff
	for {
		if !w.hasEnded(c) { // before this node began
			p := w.take(c)
			if p == nil {
				p = w.begin(ctx, c)
			}
			switch {
			case p != nil && !w.await(ctx, c, p):
				return false
			case p == nil && !w.hasEnded(c):
				return false // stopped before it was started
			}
		}
		ok, again := w.judge(c)
		if !again {
			return ok
		}
		if !w.backOff(c, pause) {
			return false
		}
		pause = min(2*pause, 30*w.n.cfg.RestartBackoff)
	}
}

// backOff waits before a container is started again.
func (w *worker) backOff(c *container, pause time.Duration) bool {
	w.mu.Lock()
	c.last = c.state
	c.restarts++
	c.state = waiting("CrashLoopBackOff", "the container is started again after "+pause.String())
	w.mu.Unlock()
	w.changed()
	timer := w.n.clk.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-w.stopped:
	case <-c.retired:
	case <-w.n.ctx.Done():
	}
	w.mu.Lock()
	c.state, c.last = c.last, corev1.ContainerState{} // it will not be started again
	c.restarts--
	w.mu.Unlock()
	return false
}

// judge reports whether a container succeeded, and whether it is to be restarted.
func (w *worker) judge(c *container) (ok, again bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.state.Terminated == nil {
		return false, false
	}
	ok = c.state.Terminated.ExitCode == 0
	if w.stop != nil || closed(c.retired) {
		return ok, false
	}
	switch policy := w.latest.Spec.RestartPolicy; {
	case c.sidecar:
		return ok, true
	case policy == corev1.RestartPolicyAlways:
		return ok, !c.init || !ok
	case policy == corev1.RestartPolicyOnFailure:
		return ok, !ok
	}
	return ok, false
}

// limitTime ends the pod when it has been active for as long as it may.
func (w *worker) limitTime() {
	pod := w.pod()
	if pod.Spec.ActiveDeadlineSeconds == nil {
		return
	}
	w.mu.Lock()
	end := w.started.Add(time.Duration(*pod.Spec.ActiveDeadlineSeconds) * time.Second)
	w.mu.Unlock()
	w.n.live.Go(func() {
		if w.n.after(end.Sub(w.n.clk.Now()), w.ended) {
			w.requestStop(stopDeadline, graceOf(w.pod()))
		}
	})
}

func graceOf(pod *corev1.Pod) time.Duration {
	if pod.Spec.TerminationGracePeriodSeconds == nil {
		return 30 * time.Second
	}
	return time.Duration(*pod.Spec.TerminationGracePeriodSeconds) * time.Second
}
