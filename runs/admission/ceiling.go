package admission

import (
	"sync"
	"time"
)

// Pace says how the cluster keeps up with what is asked of it.
type Pace interface {
	// Slow reports whether the API server of the cluster was late in the last moments.
	Slow() bool
}

const (
	// ceilingEvery is the least time between two changes of the ceiling: what the last one did must show first.
	ceilingEvery = 10 * time.Second
	// steps is in how many steps a ceiling grows back from nothing to the limit.
	steps = 20
	// floor is the part of the limit that stays, as a divisor.
	floor = 20
)

// ceiling is how many actions may be live now: the configured limit, or fewer while the cluster is slow. It is halved,
// counted from the actions that are live, and grows back step by step. It is safe for concurrent use.
type ceiling struct {
	limit int
	pace  Pace // nil: the cluster is never slow

	mu      sync.Mutex
	now     int       // GUARDED_BY(mu): 0 before the first look
	changed time.Time // GUARDED_BY(mu)
}

// look adapts the ceiling to the pace of the cluster, by the number of live actions.
func (c *ceiling) look(at time.Time, live int) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now == 0 {
		c.now = c.limit
	}
	if c.pace == nil || at.Sub(c.changed) < ceilingEvery {
		return c.now
	}
	before := c.now
	if c.pace.Slow() {
		c.now = max(1, c.limit/floor, min(c.now, live)/2)
	} else {
		c.now = min(c.limit, c.now+max(1, c.limit/steps))
	}
	if c.now != before {
		c.changed = at
	}
	return c.now
}

// at is the ceiling as it is.
func (c *ceiling) at() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now == 0 {
		return c.limit
	}
	return c.now
}
