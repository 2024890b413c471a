package dispatch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// delayedStream is a stream of assignments, in a bubble of synctest, and what decides about it.
type delayedStream struct {
	Reader // unexpected calls panic
	t      *testing.T
	feed   *Feed
	end    func()

	mu      sync.Mutex
	live    []schema.Ref // GUARDED_BY(mu): as the database has them
	claimed bool         // GUARDED_BY(mu)
	sent    []string     // GUARDED_BY(mu)
}

func (s *delayedStream) ClaimProcessors() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.claimed
}

func (s *delayedStream) claim(claimed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.claimed = claimed
}

func (s *delayedStream) Live(_ context.Context, _ worklists.Selection, after schema.Ref, _ int) ([]schema.Ref, error) {
	if after.ID != 0 {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live, nil
}

func (s *delayedStream) LiveByID(_ context.Context, ids []int64, _, _ bool) (found []worklists.LiveAction, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		for _, ref := range s.live {
			if ref.ID == id {
				found = append(found, worklists.LiveAction{Ref: ref, SpecDigest: []byte("spec"), Attempt: 1})
			}
		}
	}
	return found, nil
}

func (s *delayedStream) Specs(_ context.Context, digests [][]byte) (map[string][]byte, error) {
	body, err := proto.Marshal(&task.TaskSpec{})
	return map[string][]byte{string(digests[0]): body}, err
}

// watch opens the stream, again if it was open.
func (s *delayedStream) watch() {
	if s.end != nil {
		s.end()
	}
	config := DefaultConfig()
	assignments := NewAssignments(config, Deps{Reader: s, Feed: s.feed, Clock: clock.System{}, Precedence: s})
	ctx, cancel := context.WithCancelCause(s.t.Context())
	ended := make(chan error)
	of := worklists.Selection{Runner: schema.RunnerExecutor, Cluster: ident.DefaultCluster, Shard: ident.AllShards}
	go func() { ended <- assignments.Watch(ctx, of, s.send) }()
	closed := errors.New("the client has gone")
	s.end = func() {
		cancel(closed)
		require.ErrorIs(s.t, <-ended, closed)
	}
	synctest.Wait()
}

func (s *delayedStream) send(message *enginev1.WatchAssignmentsResponse) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch m := message.GetMessage().(type) {
	case *enginev1.WatchAssignmentsResponse_Live:
		for _, ref := range m.Live.GetRefs() {
			s.sent = append(s.sent, "live "+ref.GetId().GetRun().GetName())
		}
	case *enginev1.WatchAssignmentsResponse_Assignment:
		s.sent = append(s.sent, "assign "+m.Assignment.GetRef().GetId().GetRun().GetName())
	case *enginev1.WatchAssignmentsResponse_Release:
		s.sent = append(s.sent, "release "+m.Release.GetRef().GetId().GetRun().GetName())
	}
	return nil
}

// admit makes an action live, as a commit does.
func (s *delayedStream) admit(action schema.Ref) {
	s.mu.Lock()
	s.live = append(s.live, action)
	s.mu.Unlock()
	s.feed.LiveChanged(store.LiveChange{Admitted: []schema.Ref{action}})
	synctest.Wait()
}

// abort ends the action that was admitted last.
func (s *delayedStream) abort() {
	s.mu.Lock()
	action := s.live[len(s.live)-1]
	s.live = s.live[:len(s.live)-1]
	s.mu.Unlock()
	s.feed.LiveChanged(store.LiveChange{Ended: []schema.Ref{action}})
	synctest.Wait()
}

// sentAfter is what was sent since the last call, until d from now.
func (s *delayedStream) sentAfter(d time.Duration) []string {
	if d > 0 {
		require.NoError(s.t, clock.Sleep(s.t.Context(), clock.System{}, d))
	}
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	sent := s.sent
	s.sent = nil
	return sent
}

// TestNewAssignmentsWait: while calls have precedence, new assignments wait, for a second at most; releases do not.
func TestNewAssignmentsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		actions := refs(6)
		for i := range actions {
			actions[i].Runner, actions[i].Cluster = schema.RunnerExecutor, ident.DefaultCluster
		}
		s := &delayedStream{t: t, feed: NewFeed("me"), live: slices.Clone(actions[:1]), claimed: true}
		s.watch()
		defer func() { s.end() }()
		require.Equal(t, []string{"live r0"}, s.sentAfter(0), "what was live before does not wait")
		s.abort()
		require.Equal(t, []string{"release r0"}, s.sentAfter(0), "nor does the end of it")

		s.admit(actions[1])
		s.admit(actions[2])
		require.Empty(t, s.sentAfter(900*time.Millisecond))
		s.claim(false)
		require.Equal(t, []string{"assign r1", "assign r2"}, s.sentAfter(2*delayStep))

		s.claim(true)
		s.admit(actions[3])
		require.Empty(t, s.sentAfter(500*time.Millisecond))
		s.admit(actions[4])
		require.Empty(t, s.sentAfter(499*time.Millisecond))
		require.Equal(t, []string{"assign r3"}, s.sentAfter(2*delayStep), "the longest wait is over for one of them")
		s.abort()
		require.Empty(t, s.sentAfter(2*time.Second), "the other ended while it waited: the client never knew it")

		s.admit(actions[5])
		s.watch()
		require.Equal(t, []string{"live r1", "live r2", "live r3", "live r5"}, s.sentAfter(0), "the stream ended while one waited; the next has it")

		s.claim(false)
		s.admit(actions[4])
		require.Equal(t, []string{"assign r4"}, s.sentAfter(0))
	})
}
