package reconciler

import (
	"context"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// roomPatience is how long new TaskActions wait while no cleanup ends. What cannot be cleaned up must not keep others from starting.
const roomPatience = time.Second

// awaitRoom returns when no more cleanups wait than a burst may delay, or when ctx ends. The more objects the API server has, the
// more CPU each request takes, and each object takes memory in every process that watches it: a fan-out that leaves its ended pods
// is slower, not faster.
func (q *cleanupQueue) awaitRoom(ctx context.Context) {
	for {
		taken, patience := q.full()
		if patience <= 0 {
			return
		}
		if clock.Await(ctx, q.clock, patience, taken) != nil {
			return
		}
	}
}

// full returns a channel that is closed when the next cleanup is taken, and how long to wait for that: not at all if there is room.
func (q *cleanupQueue) full() (taken <-chan struct{}, patience time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) <= maxDelayedCleanups {
		return nil, 0
	}
	age := q.clock.Now().Sub(q.ended)
	if age < 0 { // the clock was set back
		return nil, 0
	}
	return q.taken, roomPatience - age
}

// size is how many cleanups wait.
func (q *cleanupQueue) size() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}
