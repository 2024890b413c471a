// Package precedence lets CreateRun calls go first when they compete with new assignments for processors. A pod costs far more CPU
// than the call that creates its run. Where the API server shares the processors, as on a laptop, a script that creates many runs would
// otherwise compete with the pods of its own first runs.
package precedence

import (
	"sync/atomic"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// lull is how long calls may pause without losing their precedence. They come in waves: the writer answers many at once, and only then
// do the next ones follow.
const lull = 20 * time.Millisecond

// Processors tell whether goroutines wait for a processor; Scheduler does.
type Processors interface {
	Short() bool
}

// Calls counts the CreateRun calls in flight. They claim the processors when more calls are in flight than there are processors, and
// the processors are short. A single caller claims nothing, so its run starts in the cluster at once.
type Calls struct {
	clock      clock.Clock
	processors Processors
	count      int64 // of processors

	inFlight atomic.Int64
	crowded  atomic.Int64 // when more than count were last seen in flight, in Unix nanoseconds
}

// New returns a counter with no calls in flight. count is the number of processors.
func New(clk clock.Clock, processors Processors, count int) *Calls {
	return &Calls{clock: clk, processors: processors, count: int64(count)}
}

// Begin counts a call as in flight until end is called.
func (c *Calls) Begin() (end func()) {
	c.saw(c.inFlight.Add(1))
	return func() { c.saw(c.inFlight.Add(-1) + 1) }
}

// saw remembers that n calls were in flight, if those are many.
func (c *Calls) saw(n int64) {
	if n > c.count {
		c.crowded.Store(c.clock.Now().UnixNano())
	}
}

// ClaimProcessors reports whether new assignments should wait now.
func (c *Calls) ClaimProcessors() bool {
	c.saw(c.inFlight.Load())
	since := c.clock.Now().UnixNano() - c.crowded.Load()
	return since >= 0 && since < int64(lull) && c.processors.Short()
}
