// Package timers handles work that time makes due: it ends actions past their limits, and starts and ends the actions
// that the runs service runs itself. The rows say what is due and when; the package finds it and calls the store,
// which decides again under the lock. One replica runs the loop, the holder of a lease; two would not do anything
// twice.
package timers

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// LeaseName is the lease of the loop.
const LeaseName = "timers"

// Reader finds due actions; worklists.DueReader is one.
type Reader interface {
	Due(ctx context.Context, until time.Time, limit int) ([]worklists.DueAction, error)
	Starts(ctx context.Context, until time.Time, limit int) ([]worklists.DueAction, error)
}

// Writer handles due actions; store.Writer is one.
type Writer interface {
	Wake(ctx context.Context, due []store.Wake, grace store.ExecutorGrace) (int, error)
}

// Starter says how actions start that the runs service runs itself.
type Starter interface {
	// Prepare returns a start for each action, in order. It never fails: it postpones what it cannot decide yet.
	Prepare(ctx context.Context, due []worklists.DueAction) []*store.Start
}

// Signals report what commits did.
type Signals interface {
	// Ready has a token when Take has something to return; the loop is its only reader.
	Ready() <-chan struct{}
	// Take returns the earliest time at which work became due since the last call; zero when there is none.
	Take() time.Time
}

// Deps are the dependencies of the loop. Without a Starter, nothing is started.
type Deps struct {
	Reader  Reader
	Writer  Writer
	Starter Starter
	Leases  leased.Leases
	Signals Signals
	Clock   clock.Clock
	Logger  zerolog.Logger
	// Lease is the name of the loop's lease; empty means LeaseName.
	Lease string
}

// Loop has one lane for due work, and one for starts, if there are any, which wait for the object store.
type Loop struct {
	lifecycle.Background
	config Config
	deps   Deps
	lanes  []*lane
}

var _ lifecycle.Part = (*Loop)(nil)

// New returns the loop; it does nothing before Start.
func New(config Config, deps Deps) *Loop {
	deps.Lease = cmp.Or(deps.Lease, LeaseName)
	l := &Loop{config: config, deps: deps}
	l.lanes = []*lane{{loop: l, name: "due", read: deps.Reader.Due, wake: make(chan struct{}, 1)}}
	if deps.Starter != nil {
		l.lanes = append(l.lanes, &lane{
			loop: l, name: "starts", read: deps.Reader.Starts, prepare: deps.Starter.Prepare, wake: make(chan struct{}, 1),
		})
	}
	return l
}

// Start implements lifecycle.Part.
func (l *Loop) Start(ctx context.Context) error {
	return l.Run(l.deps.Logger.WithContext(ctx), l.listen, leased.While(l.deps.Leases, l.deps.Lease, l.config.Lease, l.work))
}

// listen wakes the lanes when a commit makes work due before their next read.
func (l *Loop) listen(ctx context.Context) {
	for {
		select {
		case <-l.deps.Signals.Ready():
			if at := l.deps.Signals.Take(); !at.IsZero() {
				for _, lane := range l.lanes {
					lane.expect(at)
				}
			}
		case <-ctx.Done():
			return
		}
	}
}

// work runs until the lease or the process ends.
func (l *Loop) work(ctx context.Context) error {
	grace := store.ExecutorGrace{Grace: l.config.Grace, Until: l.deps.Clock.Now().Add(l.config.Settle)}
	var lanes sync.WaitGroup
	for _, lane := range l.lanes {
		lanes.Go(func() { lane.run(ctx, grace) })
	}
	lanes.Wait()
	return nil
}
