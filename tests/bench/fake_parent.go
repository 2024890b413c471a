package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"connectrpc.com/connect"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// fakeParent plays the SDK in the pod of a root action: it watches the children and records when each one ends.
type fakeParent struct {
	stack  *stack.Stack
	action ident.Action
	pod    *corev1.Pod
	stream *connect.ServerStreamForClient[actions.WatchForUpdatesResponse]
	cancel context.CancelFunc
	ended  chan struct{} // closed when the watch has ended

	mu     sync.Mutex
	ends   map[string]time.Time // GUARDED_BY(mu): when the watch had the end of each child
	bad    []string             // GUARDED_BY(mu): children that did not succeed
	last   time.Time            // GUARDED_BY(mu): when the last of ends came
	change chan struct{}        // GUARDED_BY(mu): closed and replaced when ends grows
	err    error                // GUARDED_BY(mu): how the watch ended
}

// startFakeParent creates a run, lets its pod run and opens the watch.
func startFakeParent(s *stack.Stack, ctx context.Context) (*fakeParent, error) {
	p := &fakeParent{stack: s, action: newRun(s, "parent").Root()}
	pod := s.Node.Want(p.action)
	if err := s.CreateRun(ctx, p.action.Run); err != nil {
		return nil, fmt.Errorf("create run: %w", err)
	}
	select {
	case found := <-pod:
		p.pod = found.Pod
	case <-ctx.Done():
		return nil, fmt.Errorf("the parent's pod did not appear: %w", ctx.Err())
	}
	if err := s.Node.Run(ctx, p.pod); err != nil {
		return nil, fmt.Errorf("run the parent's pod: %w", err)
	}
	if err := p.open(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// open opens the watch, and reads what has ended already. It forgets what an earlier watch saw.
func (p *fakeParent) open(ctx context.Context) error {
	watching, cancel := context.WithCancel(ctx)
	stream, err := p.stack.Actions.WatchForUpdates(watching, &actions.WatchForUpdatesRequest{
		Filter: &actions.WatchForUpdatesRequest_ParentActionId{ParentActionId: p.action.Proto()},
	})
	if err != nil {
		cancel()
		return fmt.Errorf("watch: %w", err)
	}
	p.stream, p.cancel, p.ended = stream, cancel, make(chan struct{})
	p.mu.Lock()
	p.ends, p.change, p.err = map[string]time.Time{}, make(chan struct{}), nil
	p.mu.Unlock()
	for stream.Receive() {
		if stream.Msg().GetControlMessage().GetSentinel() {
			go p.watch()
			return nil
		}
		p.read(stream.Msg())
	}
	cancel()
	return fmt.Errorf("watch: %w", stream.Err())
}

// close ends the watch.
func (p *fakeParent) close() {
	p.cancel()
	<-p.ended
	_ = p.stream.Close() // already cut off
}

func (p *fakeParent) watch() {
	defer close(p.ended)
	for p.stream.Receive() {
		p.read(p.stream.Msg())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = errors.Join(errors.New("the watch ended"), p.stream.Err())
}

func (p *fakeParent) read(message *actions.WatchForUpdatesResponse) {
	update := message.GetActionUpdate()
	switch update.GetPhase() {
	case common.ActionPhase_ACTION_PHASE_SUCCEEDED, common.ActionPhase_ACTION_PHASE_FAILED,
		common.ActionPhase_ACTION_PHASE_ABORTED, common.ActionPhase_ACTION_PHASE_TIMED_OUT:
		p.note(update.GetActionId().GetName(), update.GetPhase(), update.GetError().GetMessage())
	}
}

// seen is how many ends the watch has had.
func (p *fakeParent) seen() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.ends)
}

func (p *fakeParent) note(name string, phase common.ActionPhase, message string) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, twice := p.ends[name]; twice {
		p.bad = append(p.bad, name+": ended twice")
		return
	}
	if phase != common.ActionPhase_ACTION_PHASE_SUCCEEDED {
		p.bad = append(p.bad, fmt.Sprintf("%s: %s %s", name, phase, message))
	}
	p.ends[name], p.last = now, now
	close(p.change)
	p.change = make(chan struct{})
}

// await waits until the watch has the end of a child, and returns when it came.
func (p *fakeParent) await(ctx context.Context, name string) (time.Time, error) {
	var at time.Time
	err := p.until(ctx, func() bool {
		var found bool
		at, found = p.ends[name]
		return found
	})
	return at, err
}

// awaitAll waits for n ends, and returns when the last of them came.
func (p *fakeParent) awaitAll(ctx context.Context, n int) (time.Time, error) {
	var last time.Time
	var seen int
	err := p.until(ctx, func() bool {
		last, seen = p.last, len(p.ends)
		return seen >= n
	})
	if err != nil {
		err = fmt.Errorf("%d of %d ends seen: %w", seen, n, err)
	}
	return last, err
}

// until waits for a condition on what mu guards. A child that did not succeed is a failure.
func (p *fakeParent) until(ctx context.Context, met func() bool) error {
	for {
		p.mu.Lock()
		done, change, bad, err := met(), p.change, p.bad, p.err
		p.mu.Unlock()
		switch {
		case len(bad) > 0:
			return fmt.Errorf("%d children did not succeed, such as %s", len(bad), bad[0])
		case done:
			return nil
		case err != nil:
			return err
		}
		select {
		case <-change:
		case <-p.ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// finish ends the parent's pod and waits until nothing is left.
func (p *fakeParent) finish(ctx context.Context) error {
	p.close()
	if err := p.stack.Node.End(ctx, p.pod); err != nil {
		return fmt.Errorf("end the parent's pod: %w", err)
	}
	return p.stack.Node.Drained(ctx, 0)
}

// newRun names a run that does not exist yet.
func newRun(s *stack.Stack, prefix string) ident.Run {
	s.Runs++
	return ident.Run{Project: stack.Project, Domain: stack.Domain, Name: fmt.Sprintf("%s-%d", prefix, s.Runs)}
}
