package engine

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/internal/lifecycle"
	"github.com/flyte-binary/flyte-binary/internal/pgdb"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// Feed tells subscribers what happens to the live set and the queue: exactly, for commits of this process; by run, for
// those of other replicas; and that anything may have happened, when notifications were lost.
type Feed struct {
	lifecycle.Background
	pool    *pgxpool.Pool
	clock   clock.Clock
	logger  zerolog.Logger
	replica string

	mu          sync.Mutex
	subscribers map[*Subscription]struct{} // GUARDED_BY(mu)
}

var (
	_ store.LiveObserver = (*Feed)(nil)
	_ lifecycle.Part     = (*Feed)(nil)
)

// NewFeed makes a feed. replica is the name that the local writer puts into its notifications.
func NewFeed(pool *pgxpool.Pool, clk clock.Clock, logger zerolog.Logger, replica string) *Feed {
	return &Feed{pool: pool, clock: clk, logger: logger, replica: replica, subscribers: map[*Subscription]struct{}{}}
}

// Changes are what a subscriber has not looked at yet.
type Changes struct {
	// Live has for each action that changed whether it is live now.
	Live map[int64]LiveRef
	// Runs are those in which another replica changed something.
	Runs map[int64]struct{}
	// Due is the earliest time at which an action that changed is due; zero when none is.
	Due time.Time
	// Queued says that there may be something to admit.
	Queued bool
	// Held says that actions got a hold.
	Held bool
	// Resync says that anything may have changed.
	Resync bool
}

// LiveRef is an action that became live or is no longer.
type LiveRef struct {
	store.Ref
	Live bool
}

// Subscription collects changes for one subscriber. What is collected is bounded by the number of actions that change
// between two looks, each once.
type Subscription struct {
	ready chan struct{}
	feed  *Feed

	mu      sync.Mutex
	changes Changes // GUARDED_BY(mu)
}

// Subscribe begins to collect. Close must be called.
func (f *Feed) Subscribe() *Subscription {
	s := &Subscription{ready: make(chan struct{}, 1), feed: f}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subscribers[s] = struct{}{}
	return s
}

// Ready has a token when there is something to Take.
func (s *Subscription) Ready() <-chan struct{} { return s.ready }

// Close ends the subscription.
func (s *Subscription) Close() {
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	delete(s.feed.subscribers, s)
}

// Take returns what was collected since the last call.
func (s *Subscription) Take() Changes {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.changes
	s.changes = Changes{}
	return taken
}

func (s *Subscription) update(change func(*Changes)) {
	s.mu.Lock()
	change(&s.changes)
	s.mu.Unlock()
	select {
	case s.ready <- struct{}{}:
	default: // a token is there already
	}
}

func (f *Feed) broadcast(change func(*Changes)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.subscribers {
		s.update(change)
	}
}

// LiveChanged implements store.LiveObserver.
func (f *Feed) LiveChanged(change store.LiveChange) {
	f.broadcast(func(c *Changes) {
		if c.Live == nil {
			c.Live = make(map[int64]LiveRef, len(change.Admitted)+len(change.Ended))
		}
		for _, ref := range change.Admitted {
			c.Live[ref.ID] = LiveRef{Ref: ref, Live: true}
		}
		for _, ref := range change.Ended {
			c.Live[ref.ID] = LiveRef{Ref: ref}
		}
		c.Queued = c.Queued || len(change.Queued) > 0
		c.Held = c.Held || len(change.Held) > 0
		if !change.Due.IsZero() && (c.Due.IsZero() || change.Due.Before(c.Due)) {
			c.Due = change.Due
		}
	})
}

// Start implements lifecycle.Part: it begins to listen to other replicas.
func (f *Feed) Start(ctx context.Context) error {
	f.Run(f.logger.WithContext(ctx), func(ctx context.Context) {
		if err := pgdb.Listen(ctx, f.pool, store.ChannelLive, f.clock, f.heard); err != nil {
			f.logger.Error().Err(err).Msg("listening for live actions ended")
		}
	})
	return nil
}

func (f *Feed) heard(n pgdb.Notification) {
	replica, list, ok := strings.Cut(n.Payload, " ")
	if ok && replica == f.replica {
		return // our own commits were told exactly
	}
	ids, err := parseIDs(list)
	resync := n.Resync || !ok || err != nil
	f.broadcast(func(c *Changes) {
		c.Queued = true
		c.Resync = c.Resync || resync
		if c.Runs == nil {
			c.Runs = make(map[int64]struct{}, len(ids))
		}
		for _, id := range ids {
			c.Runs[id] = struct{}{}
		}
	})
}

func parseIDs(list string) ([]int64, error) {
	if list == "" {
		return nil, nil
	}
	var ids []int64
	for field := range strings.SplitSeq(list, ",") {
		id, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}
