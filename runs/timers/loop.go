// Package timers does what is due because time passes: it ends actions whose time is over and lets the engine's own
// tasks begin and end. What is due and when is in the rows; the package finds it and asks the store to do it, which
// decides again under the lock. One replica runs the loop, the holder of a lease; were it two, they would do nothing
// twice.
package timers

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/internal/lifecycle"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// LeaseName is the lease of the loop.
const LeaseName = "timers"

// Reader finds what is due; store.DueReader is one.
type Reader interface {
	Due(ctx context.Context, until time.Time, limit int) ([]store.DueAction, error)
	Starts(ctx context.Context, until time.Time, limit int) ([]store.DueAction, error)
}

// Writer does it; store.Writer is one.
type Writer interface {
	Wake(ctx context.Context, due []store.Wake, patience store.Patience) (int, error)
}

// Starter says how actions begin that the engine runs itself.
type Starter interface {
	// Prepare answers for each action in order. It never fails: what cannot be said yet is postponed.
	Prepare(ctx context.Context, due []store.DueAction) []*store.Start
}

// Leases runs work while a lease is held; pgdb.Leases is one.
type Leases interface {
	Hold(ctx context.Context, name string, d time.Duration, work func(context.Context) error) error
}

// Signals tell what commits did.
type Signals interface {
	// Ready has a token when there is something to Take; the loop is its only reader.
	Ready() <-chan struct{}
	// Take tells the earliest time at which something is due since the last call; zero when nothing is.
	Take() time.Time
}

// Deps are what the loop stands on.
type Deps struct {
	Reader  Reader
	Writer  Writer
	Starter Starter
	Leases  Leases
	Signals Signals
	Clock   clock.Clock
	Logger  zerolog.Logger
}

// Loop is the loop: a lane for what is due, and one for starts, which wait for the object store.
type Loop struct {
	lifecycle.Background
	config Config
	deps   Deps
	lanes  [2]*lane
}

var _ lifecycle.Part = (*Loop)(nil)

// New makes the loop; it does nothing before Start.
func New(config Config, deps Deps) *Loop {
	l := &Loop{config: config, deps: deps}
	l.lanes = [2]*lane{
		{loop: l, name: "due", read: deps.Reader.Due, wake: make(chan struct{}, 1)},
		{loop: l, name: "starts", read: deps.Reader.Starts, prepare: deps.Starter.Prepare, wake: make(chan struct{}, 1)},
	}
	return l
}

// Start implements lifecycle.Part.
func (l *Loop) Start(ctx context.Context) error {
	l.Run(l.deps.Logger.WithContext(ctx), l.listen, func(ctx context.Context) {
		if err := l.deps.Leases.Hold(ctx, LeaseName, l.config.Lease, l.work); err != nil {
			l.deps.Logger.Error().Err(err).Msg("doing what is due ended")
		}
	})
	return nil
}

// listen wakes the lanes when a commit made something due before they look again.
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
	patience := store.Patience{Grace: l.config.Grace, Until: l.deps.Clock.Now().Add(l.config.Settle)}
	var lanes sync.WaitGroup
	for _, lane := range l.lanes {
		lanes.Go(func() { lane.run(ctx, patience) })
	}
	lanes.Wait()
	return nil
}
