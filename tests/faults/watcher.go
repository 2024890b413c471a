package main

import (
	"context"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/tests/faults/check"
)

// streamAge is how long a watcher without heartbeats keeps a stream: these streams say nothing while nothing changes, and a
// half-open one says nothing at all.
const streamAge = 5 * time.Second

// watcher follows a run over as many streams as it takes and remembers all that it was sent.
type watcher struct {
	kind string

	mu   sync.Mutex
	seen map[string][]check.Position // GUARDED_BY(mu)
}

func newWatcher(kind string) *watcher {
	return &watcher{kind: kind, seen: map[string][]check.Position{}}
}

func (w *watcher) follow(ctx context.Context, c *client, run *common.RunIdentifier) {
	for ctx.Err() == nil {
		once, cancel := context.WithTimeout(ctx, streamAge)
		if w.kind == "details" {
			w.details(once, c, run)
		} else {
			w.actions(once, c, run)
		}
		cancel()
		pause := 100 * time.Millisecond
		if w.ended("a0") { // its streams end at once, with what may have changed since
			pause = time.Second
		}
		sleep(ctx, pause)
	}
}

func (w *watcher) details(ctx context.Context, c *client, run *common.RunIdentifier) {
	stream, err := c.runs.WatchRunDetails(ctx, &workflow.WatchRunDetailsRequest{RunId: run})
	if err != nil {
		return
	}
	defer stream.Close() //nolint:errcheck // it is cut off
	for stream.Receive() {
		action := stream.Msg().GetDetails().GetAction()
		w.note(action.GetId().GetName(), action.GetStatus())
	}
}

func (w *watcher) actions(ctx context.Context, c *client, run *common.RunIdentifier) {
	stream, err := c.runs.WatchActions(ctx, &workflow.WatchActionsRequest{RunId: run})
	if err != nil {
		return
	}
	defer stream.Close() //nolint:errcheck // it is cut off
	for stream.Receive() {
		for _, enriched := range stream.Msg().GetEnrichedActions() {
			w.note(enriched.GetAction().GetId().GetName(), enriched.GetAction().GetStatus())
		}
	}
}

func (w *watcher) note(name string, status *workflow.ActionStatus) {
	if name == "" || status == nil {
		return // a heartbeat
	}
	at := check.Position{Attempt: int32(status.GetAttempts()), Phase: int32(status.GetPhase())}
	w.mu.Lock()
	defer w.mu.Unlock()
	if seen := w.seen[name]; len(seen) > 0 && seen[len(seen)-1] == at {
		return
	}
	w.seen[name] = append(w.seen[name], at)
}

func (w *watcher) has(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen[name]) > 0
}

func (w *watcher) ended(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen[name]
	return len(seen) > 0 && check.Terminal(seen[len(seen)-1].Phase)
}

// last is the latest position of each action.
func (w *watcher) last() map[string]check.Position {
	w.mu.Lock()
	defer w.mu.Unlock()
	last := make(map[string]check.Position, len(w.seen))
	for name, seen := range w.seen {
		last[name] = seen[len(seen)-1]
	}
	return last
}

func (w *watcher) evidence() check.Watcher {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := make(map[string][]check.Position, len(w.seen))
	for name, positions := range w.seen {
		seen[name] = append([]check.Position(nil), positions...)
	}
	return check.Watcher{Name: w.kind, Seen: seen, Whole: w.kind == "actions"}
}
