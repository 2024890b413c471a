package watch

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/watches"
)

// LogReader reads the logs of runs.
type LogReader interface {
	// Changes returns what changed after a position in the log of a run, up to where the log was read, and whether more
	// of the log may be there.
	Changes(ctx context.Context, runID, after int64, limit int) (changes []watches.Change, upTo int64, more bool, err error)
	// LastSeqs returns the ends of the logs of runs. Runs that do not exist are missing.
	LastSeqs(ctx context.Context, runIDs []int64) (map[int64]int64, error)
	RootsByID(ctx context.Context, ids []int64) ([]*lists.Listed, error)
	// UpdatedRoots returns runs of one project and domain in the order of their updates.
	UpdatedRoots(ctx context.Context, scope schema.Scope, after watches.UpdatedKey, limit int) ([]*lists.Listed, error)
	// Scopes returns every project and domain that has runs.
	Scopes(ctx context.Context) ([]schema.Scope, error)
}

// HubDeps are the dependencies of a Hub.
type HubDeps struct {
	Log    LogReader
	Clock  clock.Clock
	Logger zerolog.Logger
	// Replica is the name with which the local writer signs its notifications; Heard ignores those.
	Replica string
	// Lag gets, in seconds, how old each change is when it reaches the streams; nil means that nothing is measured.
	Lag metric.Float64Histogram
}

// Hub delivers changes of runs to subscribers. It reads only runs that have subscribers.
type Hub struct {
	cfg   Config
	deps  HubDeps
	reads chan struct{} // a token for each read in flight

	mu     sync.Mutex
	ctx    context.Context    //nolint:containedctx // GUARDED_BY(mu): of goroutines that outlive Start; nil before it
	cancel context.CancelFunc // GUARDED_BY(mu)
	feeds  map[int64]*feed    // GUARDED_BY(mu): by run id
	roots  *rootFeed          // nil while nothing watches lists of runs; GUARDED_BY(mu)
	closed bool               // GUARDED_BY(mu)

	closing chan struct{} // closed by Stop: every stream ends
	wg      sync.WaitGroup
}

var _ lifecycle.Part = (*Hub)(nil)

// NewHub returns a hub that has not been started.
func NewHub(cfg Config, deps HubDeps) *Hub {
	if deps.Lag == nil {
		deps.Lag = noop.Float64Histogram{}
	}
	return &Hub{
		cfg:     cfg,
		deps:    deps,
		reads:   make(chan struct{}, cfg.Reads),
		feeds:   map[int64]*feed{},
		closing: make(chan struct{}),
	}
}

// Start implements lifecycle.Part.
func (h *Hub) Start(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return lifecycle.ErrStopped
	case h.ctx != nil:
		return nil
	}
	h.ctx, h.cancel = context.WithCancel(context.WithoutCancel(ctx))
	h.spawn(h.poll)
	return nil
}

// Stop implements lifecycle.Part. It ends every stream with Unavailable, so that clients go to another replica. It
// does not wait for streams whose client does not read; the server closes their connections.
func (h *Hub) Stop(ctx context.Context) error {
	h.mu.Lock()
	if !h.closed {
		h.closed = true
		close(h.closing)
		if h.cancel != nil {
			h.cancel()
		}
	}
	h.mu.Unlock()
	done := make(chan struct{})
	go func() {
		h.wg.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// spawn runs a goroutine until the hub stops. The caller holds mu.
func (h *Hub) spawn(run func(ctx context.Context)) {
	ctx := h.ctx
	h.wg.Go(func() { run(ctx) })
}

// Wake signals that the logs of runs have grown. It never blocks; the local writer calls it after each commit.
func (h *Hub) Wake(runIDs ...int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range runIDs {
		if f := h.feeds[id]; f != nil {
			poke(f.wake)
		}
	}
	if h.roots != nil {
		h.roots.changed(runIDs)
	}
}

// WakeAll signals that any log may have grown.
func (h *Hub) WakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.feeds {
		poke(f.wake)
	}
	if h.roots != nil {
		h.roots.lookBack()
	}
}

// Subscribe starts to follow a run. lastSeq is any position of the run's log that was read before the call. What the
// subscriber reads after the call and what the subscription delivers have no gap between them: a commit that was
// signalled before the call is visible to a read after it.
func (h *Hub) Subscribe(runID, lastSeq int64, topic Topic) (*Subscription, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.ctx == nil {
		return nil, rpc.SubscribeAgain()
	}
	f := h.feeds[runID]
	if f == nil {
		f = newFeed(h, runID, lastSeq)
		h.feeds[runID] = f
		ctx, cancel := context.WithCancel(h.ctx)
		f.cancel = cancel
		h.wg.Go(func() { f.run(ctx) })
	}
	f.users++
	return f.subscribe(topic), nil
}

// release ends one use of a feed and frees it after the last.
func (h *Hub) release(f *feed) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f.users--
	if f.users == 0 {
		delete(h.feeds, f.runID)
		f.cancel()
	}
}

// Feeds is the number of runs that are followed, for metrics and tests.
func (h *Hub) Feeds() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.feeds)
}

// acquire waits for a free slot to read the database.
func (h *Hub) acquire(ctx context.Context) error {
	select {
	case h.reads <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *Hub) free() { <-h.reads }

// poke signals a channel of capacity one.
func poke(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default: // a wake-up is pending already
	}
}

// measure records how old a change is that streams can send from now on. The row has the time of its action's newest event
// alone, so older events are not measured.
func (h *Hub) measure(now time.Time, row *lists.Listed, seq int64) {
	if seq == row.LastSeq {
		h.deps.Lag.Record(context.Background(), max(0, now.Sub(row.UpdatedAt).Seconds()))
	}
}
