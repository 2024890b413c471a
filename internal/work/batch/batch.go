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
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
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
	// Clock tells the age of items; nil means the system's.
	Clock clock.Clock
}

// Item is the submission of one caller.
type Item[V, R any] struct {
	// Ctx is the caller's; when it ends, the caller no longer waits for the answer.
	Ctx context.Context //nolint:containedctx // its end is what the flush watches
	// Value is what was submitted.
	Value V

	since  time.Time     // when it was submitted
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

	wake chan struct{} // holds a token when there is something to do
	idle chan struct{} // closed when the flushing goroutine ends

	mu       sync.Mutex
	waiting  []*Item[V, R]      // GUARDED_BY(mu): in order of arrival
	flushing []*Item[V, R]      // GUARDED_BY(mu): the batch that is being flushed, of which some may be answered
	cancel   context.CancelFunc // GUARDED_BY(mu): of the flushes' context; nil before Start
	stopped  bool               // GUARDED_BY(mu)
}

// New returns a batcher that does not flush yet.
func New[V, R any](config Config[V, R]) *Batcher[V, R] {
	if config.Weight == nil {
		config.Weight = func(V) int { return 1 }
	}
	if config.Clock == nil {
		config.Clock = clock.System{}
	}
	return &Batcher[V, R]{config: config, wake: make(chan struct{}, 1), idle: make(chan struct{})}
}

// Start begins to flush, with the values of the context but not its end.
func (b *Batcher[V, R]) Start(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.stopped:
		return lifecycle.ErrStopped
	case b.cancel != nil:
		return nil
	}
	ctx, b.cancel = context.WithCancel(context.WithoutCancel(ctx)) //nolint:gosec // Stop cancels it
	go b.flush(ctx)
	return nil
}

// Stop refuses new items and waits until those that wait are flushed. When the context ends first, the context of the
// flush is canceled and the rest is answered with ErrStopped.
func (b *Batcher[V, R]) Stop(ctx context.Context) error {
	b.mu.Lock()
	b.stopped = true
	cancel := b.cancel
	if cancel == nil { // never started
		refuse(b.waiting)
		b.waiting = nil
	}
	b.mu.Unlock()
	if cancel == nil {
		return nil
	}
	defer cancel()
	b.signal()
	select {
	case <-b.idle:
		return nil
	case <-ctx.Done():
		cancel()
		<-b.idle
		return ctx.Err()
	}
}

// Submit submits a value and waits for the answer to it, or for the end of the context.
func (b *Batcher[V, R]) Submit(ctx context.Context, value V) (R, error) {
	var none R
	item := NewItem[V, R](ctx, value)
	item.since = b.config.Clock.Now()
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

// Oldest is how long the oldest item without an answer has waited, in the queue or in a flush; 0 when there is none.
func (b *Batcher[V, R]) Oldest() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, oldest := b.config.Clock.Now(), time.Duration(0)
	for _, item := range b.flushing {
		if !item.answered() {
			oldest = max(oldest, now.Sub(item.since))
		}
	}
	if len(b.waiting) > 0 {
		oldest = max(oldest, now.Sub(b.waiting[0].since))
	}
	return oldest
}

func (i *Item[V, R]) answered() bool {
	select {
	case <-i.done:
		return true
	default:
		return false
	}
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
	if len(b.waiting) == 1 {
		b.signal()
	}
	return nil
}

// signal wakes the flushing goroutine, now or at its next look.
func (b *Batcher[V, R]) signal() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// flush flushes batch after batch until the batcher is stopped and nothing waits.
func (b *Batcher[V, R]) flush(ctx context.Context) {
	defer close(b.idle)
	for {
		items, stopped := b.take()
		switch {
		case len(items) > 0 && ctx.Err() != nil:
			refuse(items)
		case len(items) > 0:
			b.config.Flush(ctx, items)
		case stopped:
			return
		default:
			<-b.wake
		}
	}
}

// take removes the next batch, without items whose callers no longer wait. An empty batch means that nothing waits.
func (b *Batcher[V, R]) take() (items []*Item[V, R], stopped bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
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
	b.flushing = items
	clear(b.waiting[:taken])
	b.waiting = b.waiting[taken:]
	if len(b.waiting) == 0 {
		b.waiting = nil // a burst's array is not kept
	}
	return items, b.stopped
}

func refuse[V, R any](items []*Item[V, R]) {
	var none R
	for _, item := range items {
		item.Answer(none, ErrStopped)
	}
}
