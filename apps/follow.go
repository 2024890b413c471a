package apps

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/flyte-binary/flyte-binary/apps/store"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
)

// perRead bounds how many apps a stream has in memory at once.
const perRead = 100

// errEnd ends a stream cleanly.
var errEnd = errors.New("the stream has ended")

// follower is one stream of apps: first all of a scope, then each one that changes.
type follower struct {
	h     *handler
	scope store.Scope
	// version is what a change makes grow.
	version func(store.Head) int64
	// changed sends apps, new ones among them; gone sends that one is deleted. first is called when all were sent, and beat
	// when nothing was for a while.
	changed     func(ctx context.Context, apps []*store.App, known map[int64]store.Head) error
	gone        func(store.Head) error
	first, beat func() error
	maxAge      time.Duration

	known map[int64]store.Head
}

// run sends until the client leaves, the server stops, or the stream is old.
func (s *follower) run(ctx context.Context) error {
	if err := s.follow(ctx); !errors.Is(err, errEnd) {
		return err
	}
	return nil
}

func (s *follower) follow(ctx context.Context) error {
	s.known = map[int64]store.Head{}
	changes := s.h.hub.Subscribe() // before the first read, so that no change is missed
	defer changes.Close()
	if err := s.compare(ctx, nil); err != nil {
		return err
	}
	if err := s.first(); err != nil {
		return err
	}
	pace := stream.NewPace(s.h.clock, stream.Timing{Heartbeat: s.h.config.Heartbeat, Poll: s.h.config.Poll, MaxAge: s.maxAge})
	defer pace.Stop()
	for {
		why, err := pace.Wait(ctx, changes.Ready(), nil)
		switch {
		case err != nil || why == stream.Expired:
			return err
		// A lost notification costs at most one poll interval, never data.
		case why == stream.Poll:
			err = s.compare(ctx, nil)
		case why == stream.Heartbeat:
			err = s.beat()
		default:
			if ids := changes.Take().apps(); ids == nil || len(ids) > 0 {
				err = s.compare(ctx, ids)
			}
		}
		if err != nil {
			return err
		}
	}
}

// compare sends what has changed among some apps; nil means all. Only heads are compared, which are small: a stream of
// all apps keeps no specs in memory.
func (s *follower) compare(ctx context.Context, ids []int64) error {
	heads, err := s.h.store.Heads(ctx, s.scope, ids)
	if err != nil {
		return err
	}
	found := make(map[int64]bool, len(heads))
	var changed []int64
	for _, head := range heads {
		found[head.ID] = true
		if before, known := s.known[head.ID]; !known || s.version(before) != s.version(head) {
			changed = append(changed, head.ID)
		}
	}
	// All known apps are candidates for having been deleted. With ids, only those can have changed.
	if ids == nil {
		ids = make([]int64, 0, len(s.known))
		for id := range s.known {
			ids = append(ids, id)
		}
	}
	// A fixed order: what a client sees does not depend on the order of a map.
	slices.Sort(ids)
	for _, id := range ids {
		if head, known := s.known[id]; known && !found[id] {
			delete(s.known, id)
			if err := s.gone(head); err != nil {
				return err
			}
		}
	}
	for part := range slices.Chunk(changed, perRead) {
		if err := s.send(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// send reads and sends apps. One that is gone meanwhile is left out; the next comparison finds that.
func (s *follower) send(ctx context.Context, ids []int64) error {
	apps, err := s.h.store.ByIDs(ctx, ids)
	if err != nil {
		return err
	}
	if err := s.changed(ctx, apps, s.known); err != nil {
		return err
	}
	for _, a := range apps {
		s.known[a.ID] = store.Head{ID: a.ID, UID: a.UID, Key: a.Key, Revision: a.Revision, Version: a.Version, RunVersion: a.RunVersion}
	}
	return nil
}
