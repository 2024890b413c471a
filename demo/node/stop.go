package node

import (
	"context"
	"time"
)

// stopReason says why a pod ends before its containers do so by themselves.
type stopReason string

const (
	stopDeleted  stopReason = "deleted"
	stopDeadline stopReason = "deadline"
	stopShutdown stopReason = "shutdown"
)

// stopRequest is a request to stop a pod.
type stopRequest struct {
	reason   stopReason
	at       time.Time
	deadline time.Time // when processes that are left are killed
}

// requestStop ends the pod's processes: asked to end first, killed after the grace. A later request can only shorten
// it.
func (w *worker) requestStop(reason stopReason, grace time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.n.clk.Now()
	deadline := now.Add(grace)
	if w.stop == nil {
		w.stop = &stopRequest{reason: reason, at: now, deadline: deadline}
		close(w.stopped)
		if !closed(w.ended) {
			w.n.live.Go(w.terminate)
		}
		return
	}
	if deadline.Before(w.stop.deadline) {
		w.stop.deadline = deadline
		select {
		case w.hurry <- struct{}{}:
		default:
		}
	}
}

// terminate carries out a stop request.
func (w *worker) terminate() {
	w.mu.Lock()
	for _, c := range w.containers {
		if !c.sidecar && c.proc != nil {
			c.proc.Terminate()
		}
	}
	w.mu.Unlock()
	for {
		w.mu.Lock()
		rest := w.stop.deadline.Sub(w.n.clk.Now())
		w.mu.Unlock()
		timer := w.n.clk.NewTimer(rest)
		select {
		case <-w.ended:
			timer.Stop()
			return
		case <-w.n.ctx.Done():
			timer.Stop()
			return
		case <-w.hurry:
			timer.Stop()
			continue
		case <-timer.C():
		}
		w.mu.Lock()
		w.killed = true
		for _, c := range w.containers {
			if c.proc != nil {
				c.proc.Kill()
			}
		}
		w.mu.Unlock()
		return
	}
}

// retireSidecars ends the sidecars, the last one first, when the containers that they serve have ended.
func (w *worker) retireSidecars(ctx context.Context) {
	grace := graceOf(w.pod())
	for i := len(w.containers) - 1; i >= 0; i-- {
		c := w.containers[i]
		if !c.sidecar {
			continue
		}
		close(c.retired)
		w.mu.Lock()
		p := c.proc
		w.mu.Unlock()
		if p == nil || ctx.Err() != nil {
			continue
		}
		p.Terminate()
		timer := w.n.clk.NewTimer(grace)
		select {
		case <-p.Done():
		case <-ctx.Done():
		case <-timer.C():
			p.Kill()
		}
		timer.Stop()
	}
}
