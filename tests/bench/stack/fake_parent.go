package stack

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
	"github.com/flyte-binary/flyte-binary/internal/names/phase"
)

// FakeParent plays the SDK in the pod of a root action: it watches the children and records when each one ends.
type FakeParent struct {
	stack  *Stack
	Action ident.Action
	pod    *corev1.Pod
	Stream *connect.ServerStreamForClient[actions.WatchForUpdatesResponse]
	Cancel context.CancelFunc
	Ended  chan struct{} // closed when the watch has ended

	mu     sync.Mutex
	ends   map[string]time.Time          // GUARDED_BY(mu): when the watch had the end of each child
	phases map[string]common.ActionPhase // GUARDED_BY(mu): how each of them ended
	bad    []string                      // GUARDED_BY(mu): children that did not succeed
	last   time.Time                     // GUARDED_BY(mu): when the last of ends came
	change chan struct{}                 // GUARDED_BY(mu): closed and replaced when ends grows
	err    error                         // GUARDED_BY(mu): how the watch ended
}

// StartFakeParent creates a run, lets its pod run and opens the watch.
func StartFakeParent(ctx context.Context, s *Stack) (*FakeParent, error) {
	p := &FakeParent{stack: s, Action: s.NewRun("parent").Root()}
	pod := s.Node.Want(p.Action)
	if err := s.CreateRun(ctx, p.Action.Run); err != nil {
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
	if err := p.Open(ctx); err != nil {
		return nil, err
	}
	return p, nil
}

// Open opens the watch, and reads what has ended already, up to the sentinel. It discards what an earlier watch saw, so
// that the times are those of this watch.
func (p *FakeParent) Open(ctx context.Context) error {
	watching, cancel := context.WithCancel(ctx)
	stream, err := p.stack.Actions.WatchForUpdates(watching, &actions.WatchForUpdatesRequest{
		Filter: &actions.WatchForUpdatesRequest_ParentActionId{ParentActionId: p.Action.Proto()},
	})
	if err != nil {
		cancel()
		return fmt.Errorf("watch: %w", err)
	}
	p.Stream, p.Cancel, p.Ended = stream, cancel, make(chan struct{})
	p.mu.Lock()
	p.ends, p.phases = map[string]time.Time{}, map[string]common.ActionPhase{}
	p.change, p.err = make(chan struct{}), nil
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

// Pod is the parent's own pod.
func (p *FakeParent) Pod() *corev1.Pod { return p.pod }

// Close ends the watch.
func (p *FakeParent) Close() {
	p.Cancel()
	<-p.Ended
	_ = p.Stream.Close() // already cut off
}

// watch reads the stream to its end, which until returns to its callers.
func (p *FakeParent) watch() {
	defer close(p.Ended)
	for p.Stream.Receive() {
		p.read(p.Stream.Msg())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = errors.Join(errors.New("the watch ended"), p.Stream.Err())
}

func (p *FakeParent) read(message *actions.WatchForUpdatesResponse) {
	update := message.GetActionUpdate()
	if phase.Terminal(update.GetPhase()) {
		p.note(update.GetActionId().GetName(), update.GetPhase(), update.GetError().GetMessage())
	}
}

// Seen is how many ends the watch has had.
func (p *FakeParent) Seen() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.ends)
}

// note records the end of a child. Another end is a fault of the server: terminal phases are final. The same one may come again,
// because a watch whose source was interrupted sends a second snapshot.
func (p *FakeParent) note(name string, phase common.ActionPhase, message string) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, twice := p.ends[name]; twice {
		if before := p.phases[name]; before != phase {
			p.bad = append(p.bad, fmt.Sprintf("%s: ended as %s, then as %s", name, before, phase))
		}
		return
	}
	p.phases[name] = phase
	if phase != common.ActionPhase_ACTION_PHASE_SUCCEEDED {
		p.bad = append(p.bad, fmt.Sprintf("%s: %s %s", name, phase, message))
	}
	p.ends[name], p.last = now, now
	close(p.change)
	p.change = make(chan struct{})
}

// Await waits until the watch has the end of a child, and returns when it came.
func (p *FakeParent) Await(ctx context.Context, name string) (time.Time, error) {
	var at time.Time
	err := p.until(ctx, func() bool {
		var found bool
		at, found = p.ends[name]
		return found
	})
	return at, err
}

// AwaitAll waits for n ends, and returns when the last of them came.
func (p *FakeParent) AwaitAll(ctx context.Context, n int) (time.Time, error) {
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
func (p *FakeParent) until(ctx context.Context, met func() bool) error {
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
		case <-p.Ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Finish ends the parent's pod and waits until nothing is left.
func (p *FakeParent) Finish(ctx context.Context) error {
	p.Close()
	if err := p.stack.Node.End(ctx, p.pod); err != nil {
		return fmt.Errorf("end the parent's pod: %w", err)
	}
	return p.stack.Node.Drained(ctx, 0)
}

// NewRun names a run that does not exist yet.
func (s *Stack) NewRun(prefix string) ident.Run {
	s.Runs++
	return ident.Run{Project: Project, Domain: Domain, Name: fmt.Sprintf("%s-%d", prefix, s.Runs)}
}
