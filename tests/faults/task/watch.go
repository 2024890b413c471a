package main

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"connectrpc.com/connect"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/phase"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/tests/faults/ledger"
)

// silence is how long a stream may be silent before it counts as dead. The storm's server repeats its sentinel each
// second.
const silence = 5 * time.Second

// watch follows the children over as many streams as it takes.
type watch struct {
	process *taskProcess
	ready   chan struct{} // closed with the first sentinel

	mu     sync.Mutex
	ends   map[string]int32 // GUARDED_BY(mu)
	change chan struct{}    // GUARDED_BY(mu): closed and replaced with each end
}

func newWatch(p *taskProcess) *watch {
	return &watch{process: p, ready: make(chan struct{}), ends: map[string]int32{}, change: make(chan struct{})}
}

// start returns when the first snapshot is complete.
func (w *watch) start(ctx context.Context) error {
	go w.follow(ctx)
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
		return errors.New("no snapshot of the children")
	}
}

// follow resubscribes until the context ends.
func (w *watch) follow(ctx context.Context) {
	retries := backoff.New(firstPause, maxPause)
	for ctx.Err() == nil {
		began := time.Now()
		if err := w.stream(ctx); connect.CodeOf(err) == connect.CodeUnauthenticated {
			_ = w.process.Note(ledger.Line{What: ledger.Refused, Note: err.Error()})
			return // a refusal means that this attempt has ended
		}
		if time.Since(began) > time.Second {
			retries.Reset()
		}
		if retries.Wait(ctx, clock.System{}) != nil {
			return
		}
	}
}

func (w *watch) stream(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := time.AfterFunc(silence, cancel)
	defer quiet.Stop()
	stream, err := w.process.actions.WatchForUpdates(ctx, &actions.WatchForUpdatesRequest{
		Filter: &actions.WatchForUpdatesRequest_ParentActionId{
			ParentActionId: &common.ActionIdentifier{Run: w.process.runID(), Name: w.process.action},
		},
	})
	if err != nil {
		return err
	}
	defer stream.Close() //nolint:errcheck // it is cut off
	for stream.Receive() {
		quiet.Reset(silence)
		if update := stream.Msg().GetActionUpdate(); update != nil {
			w.note(update.GetActionId().GetName(), update.GetPhase())
		}
		if stream.Msg().GetControlMessage().GetSentinel() {
			w.markReady()
		}
	}
	return stream.Err()
}

func (w *watch) markReady() {
	select {
	case <-w.ready:
	default:
		close(w.ready)
	}
}

func (w *watch) note(name string, at common.ActionPhase) {
	if !phase.Terminal(at) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ends[name] = int32(at)
	close(w.change)
	w.change = make(chan struct{})
}

func (w *watch) ended(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.ends[name]
	return ok
}

// end waits for the end of a child.
func (w *watch) end(ctx context.Context, name string) (int32, error) {
	for {
		w.mu.Lock()
		phase, ok := w.ends[name]
		change := w.change
		w.mu.Unlock()
		if ok {
			return phase, nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func (w *watch) all() map[string]int32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.ends)
}
