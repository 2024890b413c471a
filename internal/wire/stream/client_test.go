package stream_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

const (
	wait = 10 * time.Second
	tick = time.Millisecond
)

type message = enginev1.WatchWorkersResponse

// server is WorkerFleetService whose streams do what a test says.
type server struct {
	enginev1connect.UnimplementedWorkerFleetServiceHandler
	serve func(ctx context.Context, send func(*message) error) error
	opens atomic.Int32
}

func (s *server) WatchWorkers(ctx context.Context, _ *enginev1.WatchWorkersRequest, to *connect.ServerStream[message]) error {
	s.opens.Add(1)
	return s.serve(ctx, to.Send)
}

func worker(id string) *message {
	return &message{Message: &enginev1.WatchWorkersResponse_Worker{Worker: &enginev1.DesiredWorker{Id: id}}}
}

func sentinel() *message {
	return &message{Message: &enginev1.WatchWorkersResponse_Sentinel{Sentinel: &enginev1.WorkersSentinel{}}}
}

// client returns the client of a server, by a clock that the test steps.
func client(s *server) (*stream.Client[message], *clock.Fake) {
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	mux.Handle(enginev1connect.NewWorkerFleetServiceHandler(s, connect.WithHandlerOptions(mux.Options()...)))
	fleet := enginev1connect.NewWorkerFleetServiceClient(rpc.InProcess(mux), rpc.InProcessURL)
	fake := clock.NewFake(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	return &stream.Client[message]{
		Open: func(ctx context.Context) (*connect.ServerStreamForClient[message], error) {
			return fleet.WatchWorkers(ctx, &enginev1.WatchWorkersRequest{})
		},
		MaxSilence: time.Minute, Backoff: backoff.Config{First: time.Second, Max: 10 * time.Second}, Clock: fake,
	}, fake
}

// ids collects the ids of workers; - is a sentinel.
func ids(into *[]string) stream.Handler[message] {
	return func(_ context.Context, s *stream.Stream[message]) error {
		for m := range s.All() {
			if m.GetSentinel() != nil {
				s.Complete()
				*into = append(*into, "-")
			} else {
				*into = append(*into, m.GetWorker().GetId())
			}
		}
		return nil
	}
}

func TestOnceHandsOverAllMessages(t *testing.T) {
	c, _ := client(&server{serve: func(_ context.Context, send func(*message) error) error {
		return errors.Join(send(worker("a")), send(sentinel()), send(worker("b")))
	}})
	var got []string
	complete, err := c.Once(t.Context(), ids(&got))
	require.NoError(t, err, "the server has ended it cleanly")
	require.True(t, complete)
	require.Equal(t, []string{"a", "-", "b"}, got)
}

func TestOnceEndsWithTheErrorOfTheServerOrTheHandler(t *testing.T) {
	c, _ := client(&server{serve: func(_ context.Context, send func(*message) error) error {
		return errors.Join(send(worker("a")), rpc.Unavailable(nil, "try later"))
	}})
	var got []string
	complete, err := c.Once(t.Context(), ids(&got))
	require.True(t, rpc.IsUnavailable(err), "%v", err)
	require.False(t, complete)
	require.Equal(t, []string{"a"}, got)

	broken := errors.New("broken")
	_, err = c.Once(t.Context(), func(_ context.Context, s *stream.Stream[message]) error {
		for range s.All() {
			return broken
		}
		return nil
	})
	require.ErrorIs(t, err, broken)
}

// A server that accepts the stream may say nothing from the start, or fall silent later.
func TestOnceEndsWhenTheServerIsSilent(t *testing.T) {
	for name, first := range map[string][]*message{"from the start": nil, "after the snapshot": {worker("a"), sentinel()}} {
		t.Run(name, func(t *testing.T) {
			c, fake := client(&server{serve: func(ctx context.Context, send func(*message) error) error {
				for _, m := range first {
					if err := send(m); err != nil {
						return err
					}
				}
				<-ctx.Done()
				return ctx.Err()
			}})
			var got []string
			ended := make(chan error, 1)
			go func() {
				_, err := c.Once(t.Context(), ids(&got))
				ended <- err
			}()
			require.Eventually(t, func() bool {
				fake.Step(20 * time.Second)
				return len(ended) == 1
			}, wait, tick)
			require.ErrorIs(t, <-ended, stream.ErrSilent)
		})
	}
}

// The time for which a handler works is not silence of the server.
func TestASlowHandlerIsNotSilence(t *testing.T) {
	c, fake := client(&server{serve: func(_ context.Context, send func(*message) error) error {
		return errors.Join(send(worker("a")), send(worker("b")))
	}})
	n := 0
	_, err := c.Once(t.Context(), func(_ context.Context, s *stream.Stream[message]) error {
		for range s.All() {
			n++
			fake.Step(time.Hour)
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 2, n)
}

func TestOnceEndsCleanlyAtItsMaximumAge(t *testing.T) {
	c, fake := client(&server{serve: func(ctx context.Context, send func(*message) error) error {
		return errors.Join(send(sentinel()), hold(ctx))
	}})
	c.MaxAge = 30 * time.Second
	ended := make(chan error, 2)
	go func() {
		_, err := c.Once(t.Context(), func(ctx context.Context, s *stream.Stream[message]) error {
			for range s.All() {
				s.Complete()
			}
			ended <- ctx.Err() // what works for the stream ends with it
			return nil
		})
		ended <- err
	}()
	require.Eventually(t, func() bool {
		fake.Step(10 * time.Second)
		return len(ended) == 2
	}, wait, tick)
	require.ErrorIs(t, <-ended, context.Canceled)
	require.NoError(t, <-ended)
}

func hold(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestBatchesHaveWhatCameTogether(t *testing.T) {
	sent := make(chan struct{})
	c, _ := client(&server{serve: func(_ context.Context, send func(*message) error) error {
		for i := range 6 {
			if err := send(worker(fmt.Sprint(i))); err != nil {
				return err
			}
		}
		close(sent)
		return nil
	}})
	c.ReadAhead = 3
	var sizes []int
	var all []string
	_, err := c.Once(t.Context(), func(_ context.Context, s *stream.Stream[message]) error {
		for batch := range s.Batches() {
			sizes = append(sizes, len(batch))
			for _, m := range batch {
				all = append(all, m.GetWorker().GetId())
			}
			<-sent
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, []string{"0", "1", "2", "3", "4", "5"}, all)
	for _, n := range sizes {
		require.LessOrEqual(t, n, c.ReadAhead+1)
	}
}

// A stream that was complete makes the next pause short again; one that was not makes it longer.
func TestFollowOpensTheStreamAgain(t *testing.T) {
	s := &server{}
	s.serve = func(_ context.Context, send func(*message) error) error {
		if s.opens.Load() == 3 {
			return errors.Join(send(sentinel()), rpc.Unavailable(nil, "stopped"))
		}
		return rpc.Unavailable(nil, "not yet")
	}
	c, fake := client(s)
	pauses := make(chan time.Duration)
	c.Failed = func(err error, pause time.Duration) {
		if rpc.IsUnavailable(err) {
			pauses <- pause
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		var got []string
		c.Follow(ctx, ids(&got))
	}()
	for _, nominal := range []float64{1, 2, 1, 2} {
		pause := <-pauses
		require.InDelta(t, nominal, pause.Seconds(), nominal/4)
		require.Eventually(t, func() bool { return fake.Timers() == 1 }, wait, tick)
		fake.Step(pause)
	}
	<-pauses
	cancel()
	<-done
}
