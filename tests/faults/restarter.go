package main

import (
	"context"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/tests/faults/stack"
)

// restarter restarts a process when it dies, as a cluster or an init system does, and measures how long that takes.
type restarter struct {
	process *stack.Process
	start   func(context.Context) (time.Duration, error)
	held    sync.Mutex // held while the process must stay down
	done    chan struct{}
	stop    context.CancelFunc

	mu    sync.Mutex
	ready []time.Duration // GUARDED_BY(mu): from each start to readiness
}

func restartWith(p *stack.Process, start func(context.Context) (time.Duration, error)) *restarter {
	ctx, cancel := context.WithCancel(context.Background())
	r := &restarter{process: p, start: start, done: make(chan struct{}), stop: cancel}
	go r.run(ctx)
	return r
}

// restartAlways restarts a process whose readiness is not measured.
func restartAlways(p *stack.Process) *restarter {
	return restartWith(p, func(context.Context) (time.Duration, error) { return 0, p.Start() })
}

func (r *restarter) run(ctx context.Context) {
	defer close(r.done)
	for {
		select {
		case <-r.process.Done():
		case <-ctx.Done():
			return
		}
		if !sleep(ctx, 200*time.Millisecond) {
			return
		}
		r.again(ctx)
	}
}

func (r *restarter) again(ctx context.Context) {
	r.held.Lock()
	defer r.held.Unlock()
	if ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	took, err := r.start(ctx)
	if err != nil {
		return // It may have died again; then it is restarted.
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ready = append(r.ready, took)
}

// down kills the process and keeps it down for a while.
func (r *restarter) down(ctx context.Context, length time.Duration) {
	_ = r.while(func() error { sleep(ctx, length); return nil }) // nothing that can fail
}

// while kills the process and keeps it down while something is done.
func (r *restarter) while(do func() error) error {
	r.held.Lock()
	defer r.held.Unlock()
	r.process.Kill()
	return do()
}

// close stops restarting and leaves the process as it is.
func (r *restarter) close() {
	if r != nil {
		r.stop()
		<-r.done
	}
}

// restarts returns and clears how long the process took to be ready.
func (r *restarter) restarts() []time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	ready := r.ready
	r.ready = nil
	return ready
}
