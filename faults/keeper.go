package main

import (
	"context"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/faults/stack"
)

// keeper starts a process again when it dies, as a cluster or an init system does, and measures how long it takes.
type keeper struct {
	process *stack.Process
	start   func(context.Context) (time.Duration, error)
	held    sync.Mutex // held while the process shall stay down
	done    chan struct{}
	stop    context.CancelFunc

	mu    sync.Mutex
	ready []time.Duration // GUARDED_BY(mu): from each start to readiness
}

func keep(p *stack.Process, start func(context.Context) (time.Duration, error)) *keeper {
	ctx, cancel := context.WithCancel(context.Background())
	k := &keeper{process: p, start: start, done: make(chan struct{}), stop: cancel}
	go k.run(ctx)
	return k
}

// keepRunning keeps a process of which nobody asks when it is ready.
func keepRunning(p *stack.Process) *keeper {
	return keep(p, func(context.Context) (time.Duration, error) { return 0, p.Start() })
}

func (k *keeper) run(ctx context.Context) {
	defer close(k.done)
	for {
		select {
		case <-k.process.Done():
		case <-ctx.Done():
			return
		}
		if !sleep(ctx, 200*time.Millisecond) {
			return
		}
		k.again(ctx)
	}
}

func (k *keeper) again(ctx context.Context) {
	k.held.Lock()
	defer k.held.Unlock()
	if ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	took, err := k.start(ctx)
	if err != nil {
		return // It may have died again; then it is started again.
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ready = append(k.ready, took)
}

// down kills the process and keeps it down for a while.
func (k *keeper) down(ctx context.Context, length time.Duration) {
	_ = k.while(func() error { sleep(ctx, length); return nil }) // nothing that can fail
}

// while kills the process and keeps it down while something is done.
func (k *keeper) while(do func() error) error {
	k.held.Lock()
	defer k.held.Unlock()
	k.process.Kill()
	return do()
}

// close leaves the process as it is.
func (k *keeper) close() {
	if k != nil {
		k.stop()
		<-k.done
	}
}

// restarts gives and forgets how long the process took to be ready.
func (k *keeper) restarts() []time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	ready := k.ready
	k.ready = nil
	return ready
}
