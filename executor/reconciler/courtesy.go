package reconciler

import (
	"context"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/clock"
)

const (
	// crowd launches and ends within crowdTime make a burst.
	crowd     = 8
	crowdTime = 150 * time.Millisecond
	// glance is how often a cleanup that waits looks whether the burst is over.
	glance = 25 * time.Millisecond
	// longestCourtesy is how long the objects of an ended action may stay because of a burst.
	longestCourtesy = 15 * time.Second
	// maxCourtesies is of how many actions they may. It bounds what a long fan-out leaves in the API server.
	maxCourtesies = 1000
	// maxCleanups is how many ended actions are cleaned up at once.
	maxCleanups = 8
)

// courtesy lets launches and ends go before cleanups in a burst. Users wait for pods to start and for results; nobody waits for the
// deletion of an object, which costs the API server as much as its creation.
type courtesy struct {
	clock clock.Clock
	lanes chan struct{} // those who came first go first

	mu      sync.Mutex
	recent  [crowd]time.Time // GUARDED_BY(mu): of the last launches and ends, a ring
	next    int              // GUARDED_BY(mu): the oldest
	waiting int              // GUARDED_BY(mu)
}

func newCourtesy(clk clock.Clock) *courtesy {
	return &courtesy{clock: clk, lanes: make(chan struct{}, maxCleanups)}
}

// note says that an attempt is launched or has made progress.
func (c *courtesy) note() {
	now := c.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recent[c.next] = now
	c.next = (c.next + 1) % crowd
}

// burst reports whether there is one.
func (c *courtesy) burst() bool {
	now := c.clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	age := now.Sub(c.recent[c.next])
	return age >= 0 && age < crowdTime
}

// turn waits until it is the turn of a cleanup, which calls done when it has ended.
func (c *courtesy) turn(ctx context.Context) (done func()) {
	if !c.join() {
		return func() {}
	}
	defer c.leave()
	since := c.clock.Now()
	select {
	case c.lanes <- struct{}{}:
	case <-ctx.Done():
		return func() {}
	}
	for c.burst() && c.clock.Now().Sub(since) < longestCourtesy {
		if clock.Sleep(ctx, c.clock, glance) != nil {
			break
		}
	}
	return func() { <-c.lanes }
}

// join reports whether there is room for one more that waits.
func (c *courtesy) join() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting >= maxCourtesies {
		return false
	}
	c.waiting++
	return true
}

func (c *courtesy) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting--
}
