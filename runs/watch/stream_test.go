package watch_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// stream collects what one stream sends.
type stream[M proto.Message] struct {
	t      testing.TB
	cancel context.CancelFunc
	done   chan struct{}

	mu       sync.Mutex
	messages []M           // GUARDED_BY(mu)
	err      error         // GUARDED_BY(mu): set before done is closed
	gate     chan struct{} // GUARDED_BY(mu): when set, the client takes nothing until it is closed
}

// follow runs a stream until it ends or the test does.
func follow[M proto.Message](t testing.TB, serve func(ctx context.Context, send func(M) error) error) *stream[M] {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &stream[M]{t: t, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(s.done)
		err := serve(ctx, s.receive(ctx))
		s.mu.Lock()
		defer s.mu.Unlock()
		s.err = err
	}()
	t.Cleanup(func() {
		cancel()
		<-s.done
	})
	return s
}

// hold makes the client take nothing until release is called.
func (s *stream[M]) hold() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gate := make(chan struct{})
	s.gate = gate
	return func() { close(gate) }
}

func (s *stream[M]) receive(ctx context.Context) func(M) error {
	return func(message M) error {
		s.mu.Lock()
		gate := s.gate
		s.mu.Unlock()
		if gate != nil {
			select {
			case <-gate:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.messages = append(s.messages, proto.CloneOf(message))
		return nil
	}
}

func (s *stream[M]) all() []M {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.messages[:len(s.messages):len(s.messages)]
}

// until waits for the messages to meet a condition.
func (s *stream[M]) until(met func(all []M) bool, what string) []M {
	s.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !met(s.all()) {
		select {
		case <-s.done:
			if met(s.all()) {
				return s.all()
			}
			require.FailNow(s.t, "stream ended", "before %s: %v; messages: %v", what, s.result(), s.all())
		case <-tick.C:
			require.Less(s.t, time.Now(), deadline, "waiting for %s; messages: %v", what, s.all())
		}
	}
	return s.all()
}

func (s *stream[M]) count(n int) []M {
	s.t.Helper()
	return s.until(func(all []M) bool { return len(all) >= n }, fmt.Sprintf("%d messages", n))
}

func (s *stream[M]) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// end waits for the stream's end.
func (s *stream[M]) end() error {
	s.t.Helper()
	select {
	case <-s.done:
	case <-time.After(20 * time.Second):
		require.FailNow(s.t, "the stream did not end", "messages: %v", s.all())
	}
	return s.result()
}

func (s *stream[M]) result() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
