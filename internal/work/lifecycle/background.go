package lifecycle

import (
	"context"
	"sync"
)

// Background runs the loops of a part between its start and its stop. A part embeds it, gets Stop from it, and calls Run in
// its Start. The zero value is ready.
type Background struct {
	mu      sync.Mutex
	cancel  context.CancelFunc // GUARDED_BY(mu): nil before Run
	stopped bool               // GUARDED_BY(mu)
	wg      sync.WaitGroup
}

// Run starts each loop in a goroutine of its own, with the values of the context but not its end: the loops end by Stop
// only. A second call does nothing; after Stop it returns ErrStopped.
func (b *Background) Run(ctx context.Context, loops ...func(context.Context)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped {
		return ErrStopped
	}
	if b.cancel != nil {
		return nil
	}
	ctx, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for _, loop := range loops {
		b.wg.Go(func() { loop(ctx) })
	}
	return nil
}

// Stop implements Part: it ends the loops and waits for them, at most until the context ends.
func (b *Background) Stop(ctx context.Context) error {
	b.mu.Lock()
	b.stopped = true
	cancel := b.cancel
	b.mu.Unlock()
	if cancel == nil {
		return nil
	}
	cancel()
	done := make(chan struct{})
	go func() {
		b.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
