package taskactions

import (
	"context"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	// fencePatience is how long new objects wait for pods of actions that this cluster no longer runs. A pod on a machine that is gone
	// never ends.
	fencePatience = 2 * time.Minute
	// fencePoll is how often these pods are looked for.
	fencePoll = 200 * time.Millisecond
)

// fence keeps new objects from being created while pods may run that the control plane has given up: attempts that it took back while
// this process, or the one before it, could not hear it. It is up from the start of a session, and from the first stream after a failed
// one, until the first comparison has found no such pods or they have ended.
type fence struct {
	mu   sync.Mutex
	down chan struct{} // GUARDED_BY(mu): closed while new objects may be created
}

func newFence() *fence { return &fence{down: make(chan struct{})} }

// raise keeps new objects from being created.
func (f *fence) raise() {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.down:
		f.down = make(chan struct{})
	default:
	}
}

// lower lets new objects be created.
func (f *fence) lower() {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.down:
	default:
		close(f.down)
	}
}

func (f *fence) isUp() bool {
	select {
	case <-f.state():
		return false
	default:
		return true
	}
}

func (f *fence) state() chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.down
}

// await returns when new objects may be created, or when ctx ends.
func (f *fence) await(ctx context.Context) {
	select {
	case <-f.state():
	case <-ctx.Done():
	}
}

// clear waits until the pods of actions that this cluster no longer runs have ended, and lowers the fence.
func (s *session) clear(ctx context.Context) {
	deadline := s.clock.Now().Add(fencePatience)
	for len(s.given) > 0 {
		if !s.mayRun(s.given[0]) {
			s.given = s.given[1:]
			continue
		}
		if s.clock.Now().After(deadline) {
			s.logger.Warn().Int("actions", len(s.given)).Msg("actions that this cluster no longer runs still have pods; new ones begin nevertheless")
			break
		}
		if clock.Sleep(ctx, s.clock, fencePoll) != nil {
			return // the next stream compares again
		}
	}
	s.given = nil
	s.fence.lower()
}

// mayRun reports whether an action has pods, or an object for which the executor may still make one. It makes none for an object that it
// retains: the process of that one has ended, or belongs to an earlier owner.
func (s *session) mayRun(uid int64) bool {
	open := func(o *metav1.PartialObjectMetadata) bool { return !s.isFinished(uid, o) && !s.retains(o) }
	return slices.ContainsFunc(s.existing(uid), open) || s.executor != nil && s.executor.HoldsPods(s.shard, uid)
}
