package dispatch

import (
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// delayStep is how often a stream asks whether calls still have precedence. There are 16 streams.
const delayStep = 20 * time.Millisecond

// delayed has the actions that one stream assigns once no calls have precedence. They are live already, so a stream that ends meanwhile
// loses none: the snapshot of the next one has them.
type delayed struct {
	longest    time.Duration
	precedence Precedence // may be nil
	clock      clock.Clock
	timer      clock.Timer // nil until something waited
	actions    map[int64]delayedAction
}

type delayedAction struct {
	schema.Ref
	since time.Time
}

func newDelayed(longest time.Duration, deps Deps) *delayed {
	return &delayed{longest: longest, precedence: deps.Precedence, clock: deps.Clock, actions: map[int64]delayedAction{}}
}

// add keeps actions until take returns them.
func (d *delayed) add(refs []schema.Ref) {
	now := d.clock.Now()
	for _, ref := range refs {
		if _, known := d.actions[ref.ID]; !known {
			d.actions[ref.ID] = delayedAction{Ref: ref, since: now}
		}
	}
}

// drop forgets an action that is no longer live.
func (d *delayed) drop(id int64) { delete(d.actions, id) }

// take returns the actions that need not wait any longer, in the order of their ids.
func (d *delayed) take() []schema.Ref {
	if len(d.actions) == 0 {
		return nil
	}
	precedence := d.precedence != nil && d.precedence.ClaimProcessors()
	now := d.clock.Now()
	var taken []schema.Ref
	for _, id := range sortedIDs(d.actions) {
		waited := now.Sub(d.actions[id].since) // negative if the clock was put back
		if precedence && waited >= 0 && waited < d.longest {
			continue
		}
		taken = append(taken, d.actions[id].Ref)
		delete(d.actions, id)
	}
	if len(d.actions) > 0 {
		d.askAgain()
	}
	return taken
}

func (d *delayed) askAgain() {
	if d.timer == nil {
		d.timer = d.clock.NewTimer(delayStep)
		return
	}
	d.timer.Reset(delayStep)
}

// due has a token when take is to be called again.
func (d *delayed) due() <-chan time.Time {
	if d.timer == nil {
		return nil
	}
	return d.timer.C()
}

func (d *delayed) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}
