package watch

import (
	"context"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/store/watches"
)

// feed follows the log of one run while it has subscribers. One goroutine reads the log; nothing is read twice.
type feed struct {
	hub    *Hub
	runID  int64
	wake   chan struct{} // capacity 1: the log may have grown
	cancel context.CancelFunc
	users  int // GUARDED_BY(hub.mu)

	mu       sync.Mutex
	cursor   int64                                 // GUARDED_BY(mu): the log is read up to here
	ring     ring                                  // GUARDED_BY(mu)
	parents  map[string]map[*Subscription]struct{} // GUARDED_BY(mu)
	actions  map[int64]map[*Subscription]struct{}  // GUARDED_BY(mu)
	everyone map[*Subscription]struct{}            // GUARDED_BY(mu)
	shared   map[string]*sharedRead                // GUARDED_BY(mu)
}

// changesPerRead bounds one read of a log.
const changesPerRead = 2000

func newFeed(hub *Hub, runID, cursor int64) *feed {
	return &feed{
		hub:      hub,
		runID:    runID,
		wake:     make(chan struct{}, 1),
		cursor:   cursor,
		ring:     ring{maxCount: hub.cfg.Ring, maxBytes: hub.cfg.RingBytes},
		parents:  map[string]map[*Subscription]struct{}{},
		actions:  map[int64]map[*Subscription]struct{}{},
		everyone: map[*Subscription]struct{}{},
		shared:   map[string]*sharedRead{},
	}
}

// run reads whenever it is woken, until the last subscriber leaves. It retries a failed read with backoff:
// subscribers see a delay and no end of stream, since the log is still there after an outage.
func (f *feed) run(ctx context.Context) {
	retries := backoff.New(minPause, maxPause)
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.wake:
		}
		err := f.catchUp(ctx)
		if err == nil {
			retries.Reset()
			continue
		}
		if ctx.Err() != nil {
			return
		}
		pause := retries.Next()
		f.hub.deps.Logger.Warn().Err(err).Int64("run", f.runID).Dur("pause", pause).Msg("reading a run's log failed; retrying")
		if clock.Sleep(ctx, f.hub.deps.Clock, pause) != nil {
			return
		}
		poke(f.wake)
	}
}

// The pauses between reads that fail.
const (
	minPause = 100 * time.Millisecond
	maxPause = 5 * time.Second
)

// catchUp reads to the end of the log.
func (f *feed) catchUp(ctx context.Context) error {
	for {
		if err := f.hub.acquire(ctx); err != nil {
			return err
		}
		// Only this goroutine moves the cursor, so it may be used without the lock here.
		changes, upTo, more, err := f.hub.deps.Log.Changes(ctx, f.runID, f.position(), changesPerRead)
		f.hub.free()
		if err != nil {
			return err
		}
		f.publish(changes, upTo)
		if !more {
			return nil
		}
	}
}

func (f *feed) position() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cursor
}

// publish adds changes to the ring and notifies the subscribers of their topics. A subscriber with changes that it has
// not taken was woken for the first of them, and finds the later ones in the ring.
func (f *feed) publish(changes []watches.Change, upTo int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cursor = upTo
	touch := func(subscribers map[*Subscription]struct{}, seq int64) {
		for s := range subscribers {
			if s.pending == 0 {
				s.pending = seq
				poke(s.wake)
			}
		}
	}
	now := f.hub.deps.Clock.Now()
	for _, change := range changes {
		f.hub.measure(now, change.Row, change.Seq)
		f.ring.add(change)
		if change.Row.ParentName != nil {
			touch(f.parents[*change.Row.ParentName], change.Seq)
		}
		touch(f.actions[change.Row.ID], change.Seq)
		touch(f.everyone, change.Seq)
	}
}

func (f *feed) subscribe(topic Topic) *Subscription {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &Subscription{feed: f, topic: topic, wake: make(chan struct{}, 1), seen: f.cursor}
	switch {
	case topic.parent != "":
		join(f.parents, topic.parent, s)
	case topic.action != 0:
		join(f.actions, topic.action, s)
	default:
		f.everyone[s] = struct{}{}
	}
	return s
}

func (f *feed) remove(s *Subscription) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case s.topic.parent != "":
		leave(f.parents, s.topic.parent, s)
	case s.topic.action != 0:
		leave(f.actions, s.topic.action, s)
	default:
		delete(f.everyone, s)
	}
}

func join[K comparable](topics map[K]map[*Subscription]struct{}, key K, s *Subscription) {
	if topics[key] == nil {
		topics[key] = map[*Subscription]struct{}{}
	}
	topics[key][s] = struct{}{}
}

func leave[K comparable](topics map[K]map[*Subscription]struct{}, key K, s *Subscription) {
	delete(topics[key], s)
	if len(topics[key]) == 0 {
		delete(topics, key)
	}
}
