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
// this process, or the one before it, could not hear it. It is up from the start of a session, and from the start of a stream after a
// failed one or after a silence, until its comparison has found no such pods or they have ended. It also goes up for attempts that are
// taken back while the stream works: the control plane hears the link of a cluster apart from it, and gives up what runs there by the link
// alone.
type fence struct {
	mu    sync.Mutex
	down  chan struct{} // GUARDED_BY(mu): closed while new objects may be created
	given []int64       // GUARDED_BY(mu): actions that this cluster no longer runs, whose pods may run
	gone  []int64       // GUARDED_BY(mu): those of which the caches no longer show anything
	more  chan struct{} // has an element when actions were given since the fence was last cleared
}

func newFence() *fence { return &fence{down: make(chan struct{}), more: make(chan struct{}, 1)} }

// raise keeps new objects from being created.
func (f *fence) raise() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.up()
}

// up is raise for callers that hold mu.
func (f *fence) up() {
	select {
	case <-f.down:
		f.down = make(chan struct{})
	default:
	}
}

// give keeps new objects from being created until an action has no pods.
func (f *fence) give(uid int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.up()
	f.given = append(f.given, uid)
	select {
	case f.more <- struct{}{}:
	default:
	}
}

// lower lets new objects be created, unless mayRun holds for an action that was given. Of the others it asks holding once, which returns
// those that have pods all the same. It returns how many actions are left. One goroutine calls it at a time.
func (f *fence) lower(mayRun func(uid int64) bool, holding func(uids []int64) []int64) int {
	f.mu.Lock()
	given, gone := f.given, f.gone
	f.given, f.gone = nil, nil
	f.mu.Unlock()
	var left []int64
	for _, uid := range given {
		if mayRun(uid) {
			left = append(left, uid)
		} else {
			gone = append(gone, uid)
		}
	}
	if len(left) == 0 && len(gone) > 0 {
		left, gone = holding(gone), nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.given, f.gone = append(left, f.given...), gone
	if len(f.given) > 0 {
		return len(f.given)
	}
	select {
	case <-f.down:
	default:
		close(f.down)
	}
	return 0
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

// guard compares as soon as the snapshot of a stream is complete, and lowers the fence whenever it may be, until ctx ends.
func (s *session) guard(ctx context.Context, snapshot <-chan struct{}) {
	select {
	case <-snapshot:
		s.compare(ctx)
	case <-ctx.Done():
		return
	}
	for {
		s.clear(ctx)
		select {
		case <-s.fence.more:
		case <-ctx.Done():
			return
		}
	}
}

// clear waits until the pods of actions that this cluster no longer runs have ended, and lowers the fence.
func (s *session) clear(ctx context.Context) {
	deadline := s.clock.Now().Add(fencePatience)
	for {
		left := s.fence.lower(s.mayRun, func(uids []int64) []int64 { return s.holding(ctx, uids) })
		if left == 0 {
			return
		}
		if s.clock.Now().After(deadline) {
			s.logger.Warn().Int("actions", left).Msg("actions that this cluster no longer runs still have pods; new ones begin nevertheless")
			s.fence.lower(func(int64) bool { return false }, func([]int64) []int64 { return nil })
			return
		}
		if clock.Sleep(ctx, s.clock, fencePoll) != nil {
			return // the next stream compares again
		}
	}
}

// mayRun reports whether an action has pods, or may have an object for which the executor still makes one. It makes none for an object that it
// retains: the process of that one has ended, or belongs to an earlier owner.
func (s *session) mayRun(uid int64) bool {
	open := func(o *metav1.PartialObjectMetadata) bool { return !s.isFinished(uid, o) && !s.retains(o) }
	return slices.ContainsFunc(s.existing(uid), open) || s.unseen.mayExist(uid, s.clock.Now()) || s.executor != nil && s.executor.HoldsPods(s.shard, uid)
}

// holding returns those of the actions that have pods by the word of the API server: the cache may be late, and not know of a pod that was
// created just before its action was taken back. They are all of them while the API server does not answer.
func (s *session) holding(ctx context.Context, uids []int64) []int64 {
	if s.executor == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.CallTimeout)
	defer cancel()
	held, err := s.executor.LivePods(ctx, s.shard, uids)
	if err != nil {
		return uids
	}
	return held
}
