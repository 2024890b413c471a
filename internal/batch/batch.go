// Package batch collects the submissions of many callers into batches: while one batch is flushed, submissions gather
// for the next one. A single caller waits for no other, and many callers share flushes. There is one flush at a time,
// so the order of submission is the order of flushing. The user of the package decides how a batch is flushed, and what
// is retried.
package batch

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/flyte-binary/flyte-binary/internal/lifecycle"
)

var (
	// ErrStopped answers submissions after Stop, and those that Stop did not wait for.
	ErrStopped = errors.New("the batcher was stopped")
	// ErrFull answers a submission when MaxWaiting items are waiting.
	ErrFull = errors.New("too many items are waiting")
	// ErrAbandoned says that the caller's context ended before the answer: the outcome is unknown. The cause of the
	// context is wrapped, too.
	ErrAbandoned = errors.New("the caller did not wait for the answer")
)

// Config configures a Batcher.
type Config[V, R any] struct {
	// MaxWeight bounds a batch; a single item may exceed it. Required.
	MaxWeight int
	// Weight of an item; nil means 1.
	Weight func(V) int
	// MaxWaiting bounds the items that wait for their flush; 0 means no limit.
	MaxWaiting int
	// Flush handles a batch and calls Answer once for each item. Its context ends when the context of Stop does.
	Flush func(ctx context.Context, items []*Item[V, R])
}

// Item is the submission of one caller.
type Item[V, R any] struct {
	// Ctx is the caller's; when it ends, the caller no longer waits for the answer.
	Ctx context.Context //nolint:containedctx // its end is what the flush watches
	// Value is what was submitted.
	Value V

	done   chan struct{} // closed when result and err are set
	result R
	err    error
}

// NewItem returns an item outside of any batcher, for tests of a flush.
func NewItem[V, R any](ctx context.Context, value V) *Item[V, R] {
	return &Item[V, R]{Ctx: ctx, Value: value, done: make(chan struct{})}
}

// Answer ends the wait of the caller. It is called once.
func (i *Item[V, R]) Answer(result R, err error) {
	i.result, i.err = result, err
	close(i.done)
}

// Batcher is the queue of items and its flushes. Items wait until Start.
type Batcher[V, R any] struct {
	config Config[V, R]

	mu      sync.Mutex
	waiting []*Item[V, R]      // GUARDED_BY(mu): in order of arrival
	ctx     context.Context    //nolint:containedctx // GUARDED_BY(mu): of flushes, which outlive Start; nil before it
	cancel  context.CancelFunc // GUARDED_BY(mu)
	stopped bool               // GUARDED_BY(mu)
	idle    chan struct{}      // GUARDED_BY(mu): closed when the flushing goroutine ends; nil while there is none
}

// New returns a batcher that does not flush yet.
func New[V, R any](config Config[V, R]) *Batcher[V, R] {
	if config.Weight == nil {
		config.Weight = func(V) int { return 1 }
	}
	return &Batcher[V, R]{config: config}
}

// Start begins to flush, with the values of the context but not its end.
func (b *Batcher[V, R]) Start(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.stopped:
		return lifecycle.ErrStopped
	case b.ctx != nil:
		return nil
	}
	b.ctx, b.cancel = context.WithCancel(context.WithoutCancel(ctx)) //nolint:gosec // Stop cancels it
	b.flushWaiting()
	return nil
}

// Stop refuses new items and waits until those that wait are flushed. When the context ends first, the context of the
// flush is canceled and the rest is answered with ErrStopped.
func (b *Batcher[V, R]) Stop(ctx context.Context) error {
	b.mu.Lock()
	b.stopped = true
	cancel, idle := b.cancel, b.idle
	if cancel == nil { // never started
		refuse(b.waiting)
		b.waiting = nil
	}
	b.mu.Unlock()
	if cancel == nil {
		return nil
	}
	defer cancel()
	if idle == nil {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		cancel()
		<-idle
		return ctx.Err()
	}
}

// Submit submits a value and waits for the answer to it, or for the end of the context.
func (b *Batcher[V, R]) Submit(ctx context.Context, value V) (R, error) {
	var none R
	item := NewItem[V, R](ctx, value)
	if err := b.add(item); err != nil {
		return none, err
	}
	select {
	case <-item.done:
		return item.result, item.err
	case <-ctx.Done():
		return none, fmt.Errorf("%w: %w", ErrAbandoned, context.Cause(ctx))
	}
}

// Waiting is how many items wait for their flush.
func (b *Batcher[V, R]) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}

func (b *Batcher[V, R]) add(item *Item[V, R]) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stopped {
		return ErrStopped
	}
	if b.config.MaxWaiting > 0 && len(b.waiting) >= b.config.MaxWaiting {
		return ErrFull
	}
	b.waiting = append(b.waiting, item)
	b.flushWaiting()
	return nil
}

// flushWaiting starts the flushing goroutine, which lives while items wait. The caller holds mu.
func (b *Batcher[V, R]) flushWaiting() {
	if b.ctx == nil || b.idle != nil || len(b.waiting) == 0 {
		return
	}
	b.idle = make(chan struct{})
	go func(ctx context.Context) {
		for items := b.take(); len(items) > 0; items = b.take() {
			if ctx.Err() != nil {
				refuse(items)
				continue
			}
			b.config.Flush(ctx, items)
		}
	}(b.ctx)
}

// take removes the next batch, without items whose callers no longer wait. An empty batch ends the flushing.
func (b *Batcher[V, R]) take() []*Item[V, R] {
	b.mu.Lock()
	defer b.mu.Unlock()
	var items []*Item[V, R]
	weight, taken := 0, 0
	for _, item := range b.waiting {
		if item.Ctx.Err() == nil {
			more := b.config.Weight(item.Value)
			if len(items) > 0 && weight+more > b.config.MaxWeight {
				break
			}
			items = append(items, item)
			weight += more
		}
		taken++
	}
	clear(b.waiting[:taken])
	b.waiting = b.waiting[taken:]
	if len(items) == 0 {
		close(b.idle)
		b.waiting, b.idle = nil, nil
	}
	return items
}

func refuse[V, R any](items []*Item[V, R]) {
	var none R
	for _, item := range items {
		item.Answer(none, ErrStopped)
	}
}
