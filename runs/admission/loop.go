// Package admission decides which queued actions may start. One replica runs the loop, the holder of a lease; its
// decisions are operations of runs/store.Writer. While no limit is near, the loop opens the writer's gate, and
// actions are admitted in the transaction that records them, without the loop. Of several replicas, only the holder of the
// lease opens its gate: two that count at the same time would both give away the same places.
package admission

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/runs/placement"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// LeaseName is the lease of the loop.
const LeaseName = "admission"

// Queue is what the loop reads; worklists.QueueReader is one.
type Queue interface {
	Backlog(ctx context.Context, limit, depth int) (*worklists.Backlog, error)
	Load(ctx context.Context, scope worklists.LoadScope) (*worklists.Load, error)
	Members(ctx context.Context, groups []*worklists.Waiting, depth int) error
}

// Admitter makes queued actions live, as long as this replica holds the lease; store.Writer is one.
type Admitter interface {
	Admit(ctx context.Context, lease string, queued []store.Queued) (int, error)
}

// Asks reads what actions ask of clusters; asks.Reader does.
type Asks interface {
	Of(ctx context.Context, ids []int64) (map[int64]*placement.Request, error)
}

// Gate is how many actions writers may admit without the loop; store.Gate is one.
type Gate interface {
	// Taken is asked before a count, and Set gets its answer with the result.
	Taken() int64
	Set(open, taken int64)
	Close()
}

// Signals report changes to the queue and the live set.
type Signals interface {
	// Ready has a token when Take has something to return; the loop is its only reader.
	Ready() <-chan struct{}
	// Take returns what happened since the last call: whether there may be actions to admit, and whether actions
	// became live or ended.
	Take() (queued, moved bool)
}

// Deps are the dependencies of the loop.
type Deps struct {
	Queue  Queue
	Queues *queues.Set // nil means the default queue alone
	Admit  Admitter
	Gate   Gate
	// Several says that other processes may serve the same installation.
	Several bool
	Leases  leased.Leases
	Signals Signals
	// Places has the clusters; nil means that queues alone name them. Asks reads what actions ask of clusters; required with Places.
	Places *placement.Book
	Asks   Asks
	// Pace lowers the limit of live actions while the cluster is slow; nil means that it always keeps up.
	Pace   Pace
	Clock  clock.Clock
	Logger zerolog.Logger
}

// Loop is the admission loop.
type Loop struct {
	lifecycle.Background
	config Config
	deps   Deps

	ceiling   *ceiling
	turns     *turns
	backlog   atomic.Bool  // the last pass found waiting actions
	saturated atomic.Bool  // the last pass reached the installation's limit
	passed    atomic.Int64 // when a pass last succeeded, in Unix nanoseconds; 0 while another replica admits
}

var _ lifecycle.Part = (*Loop)(nil)

// New returns the loop; it does nothing before Start.
func New(config Config, deps Deps) *Loop {
	if deps.Queues == nil {
		deps.Queues = queues.New(nil)
	}
	return &Loop{config: config, deps: deps, turns: newTurns(), ceiling: &ceiling{limit: config.MaxLive, pace: deps.Pace}}
}

// Limit is how many actions may be live now: runs.admission.maxLive, or fewer while the cluster is slow.
func (l *Loop) Limit() int { return l.ceiling.at() }

// Start implements lifecycle.Part. When it returns, the gate of a single process is as open as the limit allows.
func (l *Loop) Start(ctx context.Context) error {
	if l.deps.Several {
		return l.Run(l.deps.Logger.WithContext(ctx), leased.While(l.deps.Leases, LeaseName, l.config.Lease, l.workAndKeepGate))
	}
	if err := l.measure(ctx); err != nil {
		l.deps.Logger.Warn().Err(err).Msg("measuring the live set failed; retrying")
	}
	return l.Run(l.deps.Logger.WithContext(ctx), l.keepGate, leased.While(l.deps.Leases, LeaseName, l.config.Lease, l.work))
}

// workAndKeepGate is the loop of one of several replicas: without the lease its gate is closed.
func (l *Loop) workAndKeepGate(ctx context.Context) error {
	var gate sync.WaitGroup
	gate.Go(func() {
		if err := l.measure(ctx); err != nil && ctx.Err() == nil {
			l.deps.Logger.Warn().Err(err).Msg("measuring the live set failed; retrying")
		}
		l.keepGate(ctx)
	})
	err := l.work(ctx)
	gate.Wait()
	l.deps.Gate.Close()
	return err
}

// keepGate measures periodically.
func (l *Loop) keepGate(ctx context.Context) {
	for clock.Sleep(ctx, l.deps.Clock, l.config.Poll) == nil {
		if err := l.measure(ctx); err != nil && ctx.Err() == nil {
			l.deps.Logger.Warn().Err(err).Msg("measuring the live set failed")
		}
	}
}

// work admits until the lease or the process ends. It logs errors and retries: the waiting actions are still in the
// queue.
func (l *Loop) work(ctx context.Context) error {
	l.passed.Store(l.deps.Clock.Now().UnixNano())
	defer l.passed.Store(0)
	for {
		began := l.deps.Clock.Now()
		if err := l.drain(ctx); err != nil && ctx.Err() == nil {
			l.deps.Logger.Warn().Err(err).Msg("admitting queued actions failed; retrying")
		}
		pause := time.Duration(0)
		if l.saturated.Load() {
			pause = saturatedPause
		}
		if took := l.deps.Clock.Now().Sub(began); took > slow {
			pause = max(pause, min(took, maxPause))
		}
		if pause > 0 && clock.Sleep(ctx, l.deps.Clock, pause) != nil || !l.awaitReason(ctx) {
			return nil
		}
	}
}

const (
	// saturatedPause limits the load on the database while the installation's limit is reached, when every action
	// that ends would cause another count.
	saturatedPause = 50 * time.Millisecond
	// A pass that took longer than slow is followed by a pause of the same length, up to maxPause: reading thousands
	// of waiting runs may take half of the database's time, not all of it.
	slow     = 20 * time.Millisecond
	maxPause = 100 * time.Millisecond
)

// drain admits until no action may start.
func (l *Loop) drain(ctx context.Context) error {
	for total := 0; ; {
		chosen, err := l.pass(ctx, LeaseName)
		if err != nil {
			return err
		}
		l.passed.Store(l.deps.Clock.Now().UnixNano())
		if total += chosen; chosen > 0 {
			continue
		}
		if total > 0 {
			return l.measure(ctx)
		}
		return nil
	}
}

// awaitReason waits until another pass may admit something: the queue has more, or it had more and an action moved,
// or the poll is due.
func (l *Loop) awaitReason(ctx context.Context) bool {
	return clock.AwaitThat(ctx, l.deps.Clock, l.config.Poll, l.deps.Signals.Ready(), func() bool {
		queued, moved := l.deps.Signals.Take()
		return queued || moved && l.backlog.Load()
	}) == nil
}

// Admits reports whether this replica admits.
func (l *Loop) Admits() bool { return l.passed.Load() != 0 }

// Silence is the time since a pass last succeeded. It is false unless this replica admits.
func (l *Loop) Silence() (time.Duration, bool) {
	at := l.passed.Load()
	if at == 0 {
		return 0, false
	}
	return max(0, l.deps.Clock.Now().Sub(time.Unix(0, at))), true
}
