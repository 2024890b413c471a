// Package precedence decides when work in the background waits for calls that somebody waits for. Where the server shares its
// processors with the cluster, as on a laptop, the work on a pod costs far more of them than the call that creates its run; without
// precedence, a script that creates many runs waits for the pods of the first ones at each further call.
package precedence

import (
	"sync/atomic"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/clock"
)

// lull is how long calls may pause without losing their precedence. They come in waves: the writer answers many at once, and only then
// do the next ones follow.
const lull = 20 * time.Millisecond

// Processors tell whether goroutines wait for a processor; Scheduler does.
type Processors interface {
	Short() bool
}

// Calls counts the CreateRun calls in flight. They claim the processors when more are in flight than those can serve at once, and the
// processors are short. One caller at a time claims nothing: the cluster may begin with its run at once.
type Calls struct {
	clock      clock.Clock
	processors Processors
	atOnce     int64

	inFlight atomic.Int64
	crowded  atomic.Int64 // when more than atOnce were last seen in flight, in Unix nanoseconds
}

// New returns calls of which atOnce, the number of processors, can be served at once.
func New(clk clock.Clock, processors Processors, atOnce int) *Calls {
	return &Calls{clock: clk, processors: processors, atOnce: int64(atOnce)}
}

// Begin counts a call as in flight until end is called.
func (c *Calls) Begin() (end func()) {
	c.saw(c.inFlight.Add(1))
	return func() { c.saw(c.inFlight.Add(-1) + 1) }
}

// saw remembers that n calls were in flight, if those are many.
func (c *Calls) saw(n int64) {
	if n > c.atOnce {
		c.crowded.Store(c.clock.Now().UnixNano())
	}
}

// ClaimProcessors reports whether work in the background should wait now.
func (c *Calls) ClaimProcessors() bool {
	c.saw(c.inFlight.Load())
	since := c.clock.Now().UnixNano() - c.crowded.Load()
	return since >= 0 && since < int64(lull) && c.processors.Short()
}
