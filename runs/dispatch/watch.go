package dispatch

import (
	"context"
	"slices"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// Send sends one element of a stream. It returns an error when the client has gone.
type Send func(*enginev1.WatchAssignmentsResponse) error

// assignmentsPerRead bounds how many specs are in memory at once.
const assignmentsPerRead = 100

// Watch sends which actions of a selection should run. It sends the references of the live set, a sentinel, then assignments and
// releases as they happen. It repeats the sentinel as a heartbeat, and returns nil after some minutes; the client subscribes again.
func (a *Assignments) Watch(ctx context.Context, of worklists.Selection, send Send) error {
	w := &watcher{Assignments: a, of: of, send: send, known: map[int64]schema.Ref{}, delayed: newDelayed(a.config.MaxDelay, a.deps)}
	defer w.delayed.stop()
	changes := a.deps.Feed.Subscribe() // before the snapshot, so that no change is missed
	defer changes.Close()
	if err := w.snapshot(ctx); err != nil {
		return err
	}
	pace := stream.NewPace(a.deps.Clock, stream.Timing{Heartbeat: a.config.Heartbeat, Poll: a.config.Poll, MaxAge: a.config.MaxAge})
	defer pace.Stop()
	for {
		why, err := pace.Wait(ctx, changes.Ready(), w.delayed.due())
		switch {
		case err != nil || why == stream.Expired:
			return err
		case why == stream.Poll:
			err = w.compare(ctx, w.all)
		case why == stream.Heartbeat:
			err = w.sentinel()
		case why == stream.PauseOver:
			err = w.assignDelayed(ctx)
		default:
			err = w.follow(ctx, changes.Take())
		}
		if err != nil {
			return err
		}
	}
}

// watcher is one stream. known is the live set as its client knows it, without the delayed actions.
type watcher struct {
	*Assignments
	of      worklists.Selection
	send    Send
	known   map[int64]schema.Ref
	delayed *delayed
}

func (w *watcher) snapshot(ctx context.Context) error {
	var after schema.Ref
	for {
		refs, err := w.deps.Reader.Live(ctx, w.of, after, w.config.PageSize)
		if err != nil {
			return err
		}
		if len(refs) == 0 {
			return w.sentinel()
		}
		page := &enginev1.LiveActions{Refs: make([]*enginev1.ActionRef, len(refs))}
		for i, ref := range refs {
			page.Refs[i] = refOf(ref)
			w.known[ref.ID] = ref
		}
		message := &enginev1.WatchAssignmentsResponse_Live{Live: page}
		if err := w.send(&enginev1.WatchAssignmentsResponse{Message: message}); err != nil {
			return err
		}
		after = refs[len(refs)-1]
	}
}

func (w *watcher) sentinel() error {
	message := &enginev1.WatchAssignmentsResponse_Sentinel{Sentinel: &enginev1.Sentinel{}}
	return w.send(&enginev1.WatchAssignmentsResponse{Message: message})
}

// follow sends what happened.
func (w *watcher) follow(ctx context.Context, changes Changes) error {
	if changes.Resync {
		return w.compare(ctx, w.all)
	}
	var admitted []schema.Ref
	for _, id := range sortedIDs(changes.Live) {
		ref := changes.Live[id]
		before, known := w.known[id]
		if known && (!ref.Live || before.Cluster != ref.Cluster) { // it has ended, or moved to another cluster
			if err := w.release(before); err != nil {
				return err
			}
			known = false
		}
		switch {
		case known || !w.of.Has(ref.Ref):
		case ref.Live:
			admitted = append(admitted, ref.Ref)
		default:
			w.delayed.drop(id)
		}
	}
	if err := w.offer(ctx, admitted); err != nil {
		return err
	}
	if len(changes.Runs) == 0 {
		return nil
	}
	return w.compare(ctx, func(ctx context.Context) (map[int64]schema.Ref, func(schema.Ref) bool, error) {
		live, err := w.rounds.liveOfRuns(ctx, w.of, changes.Runs)
		return byID(live), func(ref schema.Ref) bool {
			_, ok := changes.Runs[ref.RunID]
			return ok
		}, err
	})
}

// all reads the whole live set.
func (w *watcher) all(ctx context.Context) (map[int64]schema.Ref, func(schema.Ref) bool, error) {
	live := map[int64]schema.Ref{}
	var after schema.Ref
	for {
		refs, err := w.deps.Reader.Live(ctx, w.of, after, w.config.PageSize)
		if err != nil {
			return nil, nil, err
		}
		if len(refs) == 0 {
			return live, func(schema.Ref) bool { return true }, nil
		}
		for _, ref := range refs {
			live[ref.ID] = ref
		}
		after = refs[len(refs)-1]
	}
}

// compare sends the difference between what is live and what the client knows. read returns what is live within some
// scope, and tells what belongs to that scope.
func (w *watcher) compare(
	ctx context.Context, read func(context.Context) (map[int64]schema.Ref, func(schema.Ref) bool, error),
) error {
	live, within, err := read(ctx)
	if err != nil {
		return err
	}
	for id, ref := range w.known {
		if now, ok := live[id]; ok && now.Cluster != ref.Cluster || !ok && within(ref) {
			if err := w.release(ref); err != nil {
				return err
			}
		}
	}
	var admitted []schema.Ref
	for _, id := range sortedIDs(live) {
		if _, known := w.known[id]; !known {
			admitted = append(admitted, live[id])
		}
	}
	return w.offer(ctx, admitted)
}

// offer assigns actions, at once or as soon as no calls have precedence.
func (w *watcher) offer(ctx context.Context, refs []schema.Ref) error {
	w.delayed.add(refs)
	return w.assignDelayed(ctx)
}

func (w *watcher) assignDelayed(ctx context.Context) error { return w.assign(ctx, w.delayed.take()) }

func (w *watcher) release(ref schema.Ref) error {
	delete(w.known, ref.ID)
	message := &enginev1.WatchAssignmentsResponse_Release{Release: &enginev1.Release{Ref: refOf(ref)}}
	return w.send(&enginev1.WatchAssignmentsResponse{Message: message})
}

// assign reads and sends assignments. One that ended meanwhile is left out; the client never knew it.
func (w *watcher) assign(ctx context.Context, refs []schema.Ref) error {
	for part := range slices.Chunk(refs, assignmentsPerRead) {
		ids := make([]int64, len(part))
		for i, ref := range part {
			ids[i] = ref.ID
		}
		assignments, err := w.Get(ctx, w.of.Cluster, ids, false)
		if err != nil {
			return err
		}
		named := byID(part)
		for _, assignment := range assignments {
			uid := assignment.GetRef().GetUid()
			ref := named[uid]
			ref.Cluster = assignment.GetCluster()
			w.known[uid] = ref
			message := &enginev1.WatchAssignmentsResponse_Assignment{Assignment: assignment}
			if err := w.send(&enginev1.WatchAssignmentsResponse{Message: message}); err != nil {
				return err
			}
		}
	}
	return nil
}

func byID(refs []schema.Ref) map[int64]schema.Ref {
	m := make(map[int64]schema.Ref, len(refs))
	for _, ref := range refs {
		m[ref.ID] = ref
	}
	return m
}
