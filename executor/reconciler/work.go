package reconciler

import (
	"context"
	"sync"
)

const (
	// maxFinishes is how many attempts are sealed, stopped or removed at once, besides what the queue of cleanups does.
	maxFinishes = 16
	// maxFollows is how many logs of pods that are being stopped are read at once.
	maxFollows = 32
)

// background runs work that must not block reconciles.
type background struct {
	mu     sync.Mutex
	closed bool // GUARDED_BY(mu)
	group  sync.WaitGroup
}

// Go starts something, unless Close was called.
func (b *background) Go(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.group.Go(do)
	}
}

// Close refuses new work and waits for the rest.
func (b *background) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.group.Wait()
}

// withSlot runs something when there is a slot for it, unless the reconciler ends before.
func (r *Reconciler) withSlot(do func(context.Context)) {
	select {
	case r.finishes <- struct{}{}:
		defer func() { <-r.finishes }()
		do(r.lifetime)
	case <-r.lifetime.Done():
	}
}

// isClosed reports whether a channel that is only ever closed is closed.
func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// waitClosed waits for a channel; nil counts as closed.
func waitClosed(done chan struct{}) {
	if done != nil {
		<-done
	}
}
