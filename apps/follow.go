package apps

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/flyte-binary/flyte-binary/apps/store"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// perRead bounds how many apps a stream has in memory at once.
const perRead = 100

// errEnd ends a stream cleanly.
var errEnd = errors.New("the stream has ended")

// stream is one stream of apps: first all of a scope, then each one that changes.
type stream struct {
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
func (s *stream) run(ctx context.Context) error {
	return ended(ctx, s.follow(ctx))
}

func (s *stream) follow(ctx context.Context) error {
	s.known = map[int64]store.Head{}
	changes := s.h.hub.subscribe() // before the first read, so that no change is missed
	defer changes.close()
	if err := s.compare(ctx, nil); err != nil {
		return err
	}
	if err := s.first(); err != nil {
		return err
	}
	heart, poll := s.h.clock.NewTimer(s.h.config.Heartbeat), s.h.clock.NewTimer(s.h.config.Poll)
	end := s.h.clock.NewTimer(s.maxAge - time.Duration(rand.Int64N(int64(s.maxAge)/5+1))) //nolint:gosec // spreads load
	defer heart.Stop()
	defer poll.Stop()
	defer end.Stop()
	for {
		var err error
		select {
		case <-changes.ready:
			if ids := changes.take(); ids == nil || len(ids) > 0 {
				err = s.compare(ctx, ids)
			}
		case <-poll.C():
			err = s.compare(ctx, nil)
			poll.Reset(s.h.config.Poll)
		case <-heart.C():
			err = s.beat()
			heart.Reset(s.h.config.Heartbeat)
		case <-end.C():
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// compare sends what has changed among some apps; nil means all.
func (s *stream) compare(ctx context.Context, ids []int64) error {
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
	if ids == nil {
		ids = make([]int64, 0, len(s.known))
		for id := range s.known {
			ids = append(ids, id)
		}
	}
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
func (s *stream) send(ctx context.Context, ids []int64) error {
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

// ended maps the end of a stream to the handler's error. The code canceled must never reach a client, which would take it
// for its own cancellation. If the client itself has left, nothing reads the error.
func ended(ctx context.Context, err error) error {
	switch {
	case err == nil, errors.Is(err, errEnd):
		return nil
	case errors.Is(context.Cause(ctx), rpc.ErrShuttingDown):
		return rpc.Unavailable(nil, "the server stops, subscribe again")
	case errors.Is(ctx.Err(), context.Canceled):
		return nil
	case rpc.KindOf(err) == rpc.KindCanceled:
		return rpc.Unavailable(err, "the stream was interrupted, subscribe again")
	default:
		return err
	}
}
