package reconciler

import (
	"context"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/clock"
)

const (
	// burstSize launches and ends within burstWindow make a burst.
	burstSize   = 8
	burstWindow = 150 * time.Millisecond
	// burstPoll is how often a cleanup that waits checks whether the burst is over.
	burstPoll = 25 * time.Millisecond
	// maxCleanupDelay is how long a burst may delay a cleanup.
	maxCleanupDelay = 15 * time.Second
	// maxDelayedCleanups is how many cleanups it may delay. It bounds what a long fan-out leaves in the API server.
	maxDelayedCleanups = 1000
	// maxCleanups is how many ended actions are cleaned up at once.
	maxCleanups = 32
)

// cleanupGate delays cleanups during a burst of launches and ends. Users are waiting for pods and results, not for deletions, and a
// deletion costs the API server as much as a creation.
type cleanupGate struct {
	clock clock.Clock
	slots chan struct{} // taken in the order of arrival

	mu      sync.Mutex
	recent  [burstSize]time.Time // GUARDED_BY(mu): times of the last launches and ends, a ring
	next    int                  // GUARDED_BY(mu): the oldest
	delayed int                  // GUARDED_BY(mu)
}

func newCleanupGate(clk clock.Clock) *cleanupGate {
	return &cleanupGate{clock: clk, slots: make(chan struct{}, maxCleanups)}
}

// progressed records that an attempt was launched, has started or has ended.
func (g *cleanupGate) progressed() {
	now := g.clock.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.recent[g.next] = now
	g.next = (g.next + 1) % burstSize
}

// inBurst reports whether the last launches and ends came close together.
func (g *cleanupGate) inBurst() bool {
	now := g.clock.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	age := now.Sub(g.recent[g.next])
	return age >= 0 && age < burstWindow
}

// enter blocks until a cleanup may run. The cleanup calls leave when it is done.
func (g *cleanupGate) enter(ctx context.Context) (leave func()) {
	if !g.delay() {
		return func() {}
	}
	defer g.resume()
	since := g.clock.Now()
	select {
	case g.slots <- struct{}{}:
	case <-ctx.Done():
		return func() {}
	}
	for g.inBurst() && g.clock.Now().Sub(since) < maxCleanupDelay {
		if clock.Sleep(ctx, g.clock, burstPoll) != nil {
			break
		}
	}
	return func() { <-g.slots }
}

// delay counts one more delayed cleanup, unless there are too many.
func (g *cleanupGate) delay() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.delayed >= maxDelayedCleanups {
		return false
	}
	g.delayed++
	return true
}

func (g *cleanupGate) resume() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.delayed--
}
