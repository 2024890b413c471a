// Package loglimit keeps a client from filling the log: of lines that requests cause, it lets a few of each kind through
// in each minute and counts the rest. It builds on internal/work/clock.
package loglimit

import (
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// window is the time that the limit is about.
	window = time.Minute
	// perWindow is how many lines of a kind a window has.
	perWindow = 10
	// maxKinds bounds the memory. All kinds beyond it share one limit.
	maxKinds = 4096
)

// Limit decides which lines are written. It is safe for concurrent use.
type Limit struct {
	clock clock.Clock
	mu    sync.Mutex
	kinds map[string]*kind // GUARDED_BY(mu)
}

// kind is the count of one kind of line.
type kind struct {
	since               time.Time
	written, suppressed int
}

// New makes a limit of ten lines a minute for each kind; a nil clock is the system's.
func New(c clock.Clock) *Limit {
	if c == nil {
		c = clock.System{}
	}
	return &Limit{clock: c, kinds: map[string]*kind{}}
}

// Allow reports whether a line of a kind may be written, and how many of its kind were not since the last one that was.
func (l *Limit) Allow(name string) (suppressed int, ok bool) {
	now := l.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kinds[name]
	if k == nil {
		if len(l.kinds) >= maxKinds {
			name = ""
		}
		if k = l.kinds[name]; k == nil {
			k = &kind{since: now}
			l.kinds[name] = k
		}
	}
	if since := now.Sub(k.since); since >= window || since < 0 {
		k.since, k.written = now, 0
	}
	if k.written >= perWindow {
		k.suppressed++
		return 0, false
	}
	k.written++
	suppressed, k.suppressed = k.suppressed, 0
	return suppressed, true
}
