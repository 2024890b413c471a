package main

import (
	"context"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/faults/stack"
)

// keeper starts the server again when it dies, as a cluster does, and measures how long it takes to be ready.
type keeper struct {
	stack *stack.Stack
	say   func(format string, args ...any)
	done  chan struct{}
	stop  context.CancelFunc

	mu    sync.Mutex
	ready []time.Duration // GUARDED_BY(mu): from each start to readiness
}

func keep(s *stack.Stack, say func(string, ...any)) *keeper {
	ctx, cancel := context.WithCancel(context.Background())
	k := &keeper{stack: s, say: say, done: make(chan struct{}), stop: cancel}
	go k.run(ctx)
	return k
}

func (k *keeper) run(ctx context.Context) {
	defer close(k.done)
	for {
		select {
		case <-k.stack.Server.Done():
		case <-ctx.Done():
			return
		}
		if !sleep(ctx, 200*time.Millisecond) {
			return
		}
		trying, cancel := context.WithTimeout(ctx, 10*time.Second)
		took, err := k.stack.StartServer(trying)
		cancel()
		if err == nil {
			k.mu.Lock()
			k.ready = append(k.ready, took)
			k.mu.Unlock()
		}
	}
}

// close leaves the server as it is.
func (k *keeper) close() {
	k.stop()
	<-k.done
}

// restarts gives and forgets how long the server took.
func (k *keeper) restarts() []time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	ready := k.ready
	k.ready = nil
	return ready
}
