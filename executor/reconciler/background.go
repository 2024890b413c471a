package reconciler

import "sync"

// background is what goes on beside the reconciles.
type background struct {
	mu     sync.Mutex
	closed bool // GUARDED_BY(mu)
	group  sync.WaitGroup
}

// Go starts something, unless the end has come.
func (b *background) Go(do func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		b.group.Go(do)
	}
}

// Close lets nothing more begin, and waits for what has.
func (b *background) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.group.Wait()
}
