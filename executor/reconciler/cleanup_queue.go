package reconciler

import (
	"context"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// burstSize launches and ends within burstWindow make a burst.
	burstSize   = 8
	burstWindow = 150 * time.Millisecond
	// burstPoll is how often the queue checks whether the burst is over.
	burstPoll = 25 * time.Millisecond
	// maxCleanupDelay is how long a burst may delay a cleanup.
	maxCleanupDelay = 15 * time.Second
	// maxDelayedCleanups is how many cleanups it may delay. With more, the oldest run and new TaskActions wait, so that a long
	// fan-out does not leave everything to its end.
	maxDelayedCleanups = 600
	// maxCleanups is how many ended actions are cleaned up at once.
	maxCleanups = 16
)

// cleanupQueue runs the cleanups of ended actions in order, and delays them during a burst of launches and ends. Users are
// waiting for pods and results, not for deletions, and a deletion costs the API server as much as a creation.
type cleanupQueue struct {
	clock clock.Clock
	work  *background

	mu      sync.Mutex
	recent  [burstSize]time.Time // GUARDED_BY(mu): times of the last launches and ends, a ring
	next    int                  // GUARDED_BY(mu): the oldest
	waiting []cleanup            // GUARDED_BY(mu): in the order of arrival
	watched bool                 // GUARDED_BY(mu): a goroutine takes the next one when it may run
	running int                  // GUARDED_BY(mu)
	ended   time.Time            // GUARDED_BY(mu): when the last one ended
	taken   chan struct{}        // GUARDED_BY(mu): closed and replaced when one is taken
}

// cleanup is the work that is left when an action has ended.
type cleanup struct {
	since time.Time
	run   func(context.Context)
}

func newCleanupQueue(clk clock.Clock, work *background) *cleanupQueue {
	return &cleanupQueue{clock: clk, work: work, taken: make(chan struct{})}
}

// progressed records that an attempt was launched, has started or has ended.
func (q *cleanupQueue) progressed() {
	now := q.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.recent[q.next] = now
	q.next = (q.next + 1) % burstSize
}

// add queues a cleanup. It is not run when the context ends first.
func (q *cleanupQueue) add(ctx context.Context, run func(context.Context)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, cleanup{since: q.clock.Now(), run: run})
	q.watch(ctx)
}

// watch starts the goroutine that takes the next cleanup, unless there is one or too many run. The caller holds mu.
func (q *cleanupQueue) watch(ctx context.Context) {
	if len(q.waiting) == 0 || q.watched || q.running >= maxCleanups {
		return
	}
	q.watched = true
	q.work.Go(func() { q.runNext(ctx) })
}

// runNext waits until the next cleanup may run, and runs it.
func (q *cleanupQueue) runNext(ctx context.Context) {
	run := q.take(ctx)
	for ; run == nil; run = q.take(ctx) {
		if clock.Sleep(ctx, q.clock, burstPoll) != nil {
			return
		}
	}
	if ctx.Err() == nil {
		run(ctx)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.running--
	q.ended = q.clock.Now()
	q.watch(ctx)
}

// take returns the next cleanup, or nil while it has to wait. Another goroutine then watches those behind it.
func (q *cleanupQueue) take(ctx context.Context) func(context.Context) {
	now := q.clock.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	first := q.waiting[0]
	age := now.Sub(q.recent[q.next])
	inBurst := age >= 0 && age < burstWindow
	if inBurst && len(q.waiting) <= maxDelayedCleanups && now.Sub(first.since) < maxCleanupDelay {
		return nil
	}
	close(q.taken)
	q.taken = make(chan struct{})
	q.waiting[0] = cleanup{}
	if q.waiting = q.waiting[1:]; len(q.waiting) == 0 {
		q.waiting = nil // a queue that was long is not kept
	}
	q.watched = false
	q.running++
	q.watch(ctx)
	return first.run
}
