package watch

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/watches"
)

// rootFeed follows the root rows of all runs while any client watches lists of runs. It reads the runs that were
// signalled as changed, and periodically all that were updated recently, in case a signal was lost.
type rootFeed struct {
	hub    *Hub
	wake   chan struct{}
	cancel context.CancelFunc
	users  int // GUARDED_BY(hub.mu)

	mu          sync.Mutex
	ids         map[int64]struct{}             // GUARDED_BY(mu): runs to read
	recent      bool                           // GUARDED_BY(mu): read those updated recently
	subscribers map[*RootSubscription]struct{} // GUARDED_BY(mu)
	ring        []rootChange                   // GUARDED_BY(mu): the newest changes, oldest first
	count       int64                          // GUARDED_BY(mu): number of changes so far

	// Only the reading goroutine uses these.
	known    *simplelru.LRU[int64, uint64] // fingerprints of what was published
	complete time.Time                     // everything updated before is published
}

// rootChange is a run that changed. number counts from 1.
type rootChange struct {
	number int64
	row    *lists.Listed
}

const (
	maxWaitingRoots = 10_000 // more wake-ups than these become one read of recent updates
	maxKnownRoots   = 50_000 // an unchanged run whose fingerprint was dropped is sent again
	rootsPerRead    = 1000
)

// RootSubscription is one subscriber's position in the feed of runs.
type RootSubscription struct {
	feed   *rootFeed
	target watches.RunTarget
	wake   chan struct{}
	once   sync.Once

	pending int64     // GUARDED_BY(feed.mu): number of the first change not taken; 0 when there is none
	taken   time.Time // GUARDED_BY(feed.mu): when everything before was taken
}

// SubscribeRoots starts to follow the runs of a target. What the subscriber reads after the call and what the
// subscription delivers have no gap between them.
func (h *Hub) SubscribeRoots(target watches.RunTarget) (*RootSubscription, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.ctx == nil {
		return nil, rpc.SubscribeAgain()
	}
	if h.roots == nil {
		known, err := simplelru.NewLRU[int64, uint64](maxKnownRoots, nil)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithCancel(h.ctx)
		f := &rootFeed{
			hub:         h,
			wake:        make(chan struct{}, 1),
			cancel:      cancel,
			ids:         map[int64]struct{}{},
			subscribers: map[*RootSubscription]struct{}{},
			known:       known,
			complete:    h.deps.Clock.Now(),
		}
		h.roots = f
		h.wg.Go(func() { f.run(ctx) })
	}
	h.roots.users++
	s := &RootSubscription{feed: h.roots, target: target, wake: make(chan struct{}, 1), taken: h.deps.Clock.Now()}
	h.roots.mu.Lock()
	defer h.roots.mu.Unlock()
	h.roots.subscribers[s] = struct{}{}
	return s, nil
}

// Ready delivers a value when Take has changes.
func (s *RootSubscription) Ready() <-chan struct{} { return s.wake }

// Take returns the runs of the target that changed, in order. If the ring has dropped some, it returns none and
// lagged; the subscriber must then read what was updated after since.
func (s *RootSubscription) Take() (rows []*lists.Listed, lagged bool, since time.Time) {
	f := s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	first := s.pending
	since = s.taken.Add(-f.hub.cfg.Overlap)
	s.pending, s.taken = 0, f.hub.deps.Clock.Now()
	if first == 0 {
		return nil, false, since
	}
	if len(f.ring) == 0 || f.ring[0].number > first {
		return nil, true, since
	}
	for _, change := range f.ring[first-f.ring[0].number:] {
		if s.target.Matches(&change.row.Action) {
			rows = append(rows, change.row)
		}
	}
	return rows, false, since
}

// Close ends the subscription. It may be called twice.
func (s *RootSubscription) Close() {
	s.once.Do(func() {
		f := s.feed
		f.mu.Lock()
		delete(f.subscribers, s)
		f.mu.Unlock()
		f.hub.mu.Lock()
		defer f.hub.mu.Unlock()
		f.users--
		if f.users == 0 {
			f.cancel()
			f.hub.roots = nil
		}
	})
}

// changed records runs to read.
func (f *rootFeed) changed(ids []int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range ids {
		f.ids[id] = struct{}{}
	}
	if len(f.ids) > maxWaitingRoots {
		clear(f.ids)
		f.recent = true
	}
	poke(f.wake)
}

// lookBack requests a read of recent updates.
func (f *rootFeed) lookBack() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.recent = true
	poke(f.wake)
}

// run reads at most once per window, so that many commits cost one read.
func (f *rootFeed) run(ctx context.Context) {
	retries := backoff.New(f.hub.cfg.Window, maxPause)
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		}
		pause := f.hub.cfg.Window
		if err := f.read(ctx); err == nil {
			retries.Reset()
		} else if ctx.Err() == nil {
			pause = retries.Next()
			f.hub.deps.Logger.Warn().Err(err).Dur("pause", pause).Msg("reading changed runs failed; retrying")
			f.lookBack() // reaches back to the last success
		}
		if clock.Sleep(ctx, f.hub.deps.Clock, pause) != nil {
			return
		}
	}
}

func (f *rootFeed) read(ctx context.Context) error {
	f.mu.Lock()
	ids := make([]int64, 0, len(f.ids))
	for id := range f.ids {
		ids = append(ids, id)
	}
	clear(f.ids)
	recent := f.recent
	f.recent = false
	f.mu.Unlock()

	if err := f.hub.acquire(ctx); err != nil {
		return err
	}
	defer f.hub.free()
	slices.Sort(ids)
	for part := range slices.Chunk(ids, rootsPerRead) {
		rows, err := f.hub.deps.Log.RootsByID(ctx, part)
		if err != nil {
			return err
		}
		// Subscribers get the runs in the order of their updates, which is not that of the ids.
		slices.SortFunc(rows, func(a, b *lists.Listed) int { return a.UpdatedAt.Compare(b.UpdatedAt) })
		f.publish(rows)
	}
	if !recent {
		return nil
	}
	now := f.hub.deps.Clock.Now()
	if err := f.readRecent(ctx, f.complete.Add(-f.hub.cfg.Overlap)); err != nil {
		return err
	}
	f.complete = now
	return nil
}

// readRecent publishes the runs updated after a time in the scopes that have subscribers.
func (f *rootFeed) readRecent(ctx context.Context, since time.Time) error {
	scopes, err := f.scopes(ctx)
	if err != nil {
		return err
	}
	for _, scope := range scopes {
		err := eachUpdated(ctx, f.hub.deps.Log, scope, since, func(rows []*lists.Listed) error {
			f.publish(rows)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// scopes are the projects and domains to read. One subscriber to all runs makes them all that have runs.
func (f *rootFeed) scopes(ctx context.Context) ([]schema.Scope, error) {
	f.mu.Lock()
	watched := map[schema.Scope]struct{}{}
	for s := range f.subscribers {
		watched[schema.Scope{Project: s.target.Project, Domain: s.target.Domain}] = struct{}{}
	}
	f.mu.Unlock()
	if _, all := watched[schema.Scope{}]; all {
		return f.hub.deps.Log.Scopes(ctx)
	}
	scopes := make([]schema.Scope, 0, len(watched))
	for scope := range watched {
		scopes = append(scopes, scope)
	}
	return scopes, nil
}

// publish delivers the rows that differ from those published before.
func (f *rootFeed) publish(rows []*lists.Listed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.hub.deps.Clock.Now()
	for _, row := range rows {
		state := fingerprint(&row.Action)
		if known, ok := f.known.Get(row.ID); ok && known == state {
			continue
		}
		f.known.Add(row.ID, state)
		f.count++
		f.hub.measure(now, row, row.LastSeq)
		f.ring = append(f.ring, rootChange{number: f.count, row: row})
		for s := range f.subscribers {
			if s.pending == 0 && s.target.Matches(&row.Action) {
				s.pending = f.count
				poke(s.wake)
			}
		}
	}
	// The ring grows to twice its size before it is cut, so that it is not copied for every change.
	if keep := f.hub.cfg.Ring; len(f.ring) > 2*keep {
		f.ring = slices.Clone(f.ring[len(f.ring)-keep:])
	}
}
