package batch_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/flyte-binary/flyte-binary/internal/work/batch"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ lifecycle.Part = (*batch.Batcher[int, int])(nil)

// gated is a batcher whose flushes block until a test releases them. It answers with the doubled value.
type gated struct {
	*batch.Batcher[int, int]
	batches chan []int    // of each flush that has begun
	release chan struct{} // releases one flush
}

func newGated(t *testing.T, config batch.Config[int, int]) *gated {
	t.Helper()
	g := &gated{batches: make(chan []int), release: make(chan struct{})}
	config.Flush = func(ctx context.Context, items []*batch.Item[int, int]) {
		values := make([]int, len(items))
		for i, item := range items {
			values[i] = item.Value
		}
		g.batches <- values
		select {
		case <-g.release:
		case <-ctx.Done():
		}
		for _, item := range items {
			if item.Value < 0 {
				item.Answer(0, errors.New("negative"))
				continue
			}
			item.Answer(2*item.Value, ctx.Err())
		}
	}
	g.Batcher = batch.New(config)
	return g
}

type answer struct {
	value int
	err   error
}

// submit submits values in this order and returns the channels of their answers.
func (g *gated) submit(t *testing.T, ctx context.Context, values ...int) []chan answer {
	t.Helper()
	answers := make([]chan answer, len(values))
	for i, value := range values {
		before, got := g.Waiting(), make(chan answer, 1)
		answers[i] = got
		go func() {
			result, err := g.Submit(ctx, value)
			got <- answer{result, err}
		}()
		require.Eventually(t, func() bool { return g.Waiting() == before+1 }, 10*time.Second, 10*time.Microsecond)
	}
	return answers
}

func TestWhatArrivesDuringAFlushIsTheNextBatch(t *testing.T) {
	g := newGated(t, batch.Config[int, int]{MaxWeight: 3})
	first := g.submit(t, t.Context(), 1)
	require.NoError(t, g.Start(t.Context()))
	require.NoError(t, g.Start(t.Context()), "twice does nothing")
	require.Equal(t, []int{1}, <-g.batches, "items wait for the start")
	rest := g.submit(t, t.Context(), 2, -3, 4, 5)
	g.release <- struct{}{}
	require.Equal(t, answer{2, nil}, <-first[0])
	require.Equal(t, []int{2, -3, 4}, <-g.batches, "at most the maximum, in order")
	g.release <- struct{}{}
	require.Equal(t, answer{4, nil}, <-rest[0])
	require.EqualError(t, (<-rest[1]).err, "negative", "each has an error of its own")
	require.Equal(t, answer{8, nil}, <-rest[2])
	require.Equal(t, []int{5}, <-g.batches)
	g.release <- struct{}{}
	require.Equal(t, answer{10, nil}, <-rest[3])
	require.NoError(t, g.Stop(t.Context()))
}

func TestWeightsBoundABatchButNotItsFirstItem(t *testing.T) {
	g := newGated(t, batch.Config[int, int]{MaxWeight: 10, Weight: func(v int) int { return v }})
	answers := g.submit(t, t.Context(), 50, 4, 6, 1)
	require.NoError(t, g.Start(t.Context()))
	for _, want := range [][]int{{50}, {4, 6}, {1}} {
		require.Equal(t, want, <-g.batches)
		g.release <- struct{}{}
	}
	for _, a := range answers {
		require.NoError(t, (<-a).err)
	}
	require.NoError(t, g.Stop(t.Context()))
}

func TestCallersThatHaveGoneAreDropped(t *testing.T) {
	g := newGated(t, batch.Config[int, int]{MaxWeight: 10, MaxWaiting: 2})
	cause := errors.New("hung up")
	leaving, leave := context.WithCancelCause(t.Context())
	gone, stays := g.submit(t, leaving, 1), g.submit(t, t.Context(), 2)
	_, err := g.Submit(t.Context(), 3)
	require.ErrorIs(t, err, batch.ErrFull)
	leave(cause)
	err = (<-gone[0]).err
	require.ErrorIs(t, err, batch.ErrAbandoned)
	require.ErrorIs(t, err, cause)
	require.NoError(t, g.Start(t.Context()))
	require.Equal(t, []int{2}, <-g.batches)
	g.release <- struct{}{}
	require.NoError(t, (<-stays[0]).err)
	require.NoError(t, g.Stop(t.Context()))
}

func TestStopDrains(t *testing.T) {
	g := newGated(t, batch.Config[int, int]{MaxWeight: 1})
	answers := g.submit(t, t.Context(), 1, 2)
	require.NoError(t, g.Start(t.Context()))
	require.Equal(t, []int{1}, <-g.batches)
	stopped := make(chan error)
	go func() { stopped <- g.Stop(t.Context()) }()
	require.Eventually(t, func() bool {
		_, err := g.Submit(expired(t), 3)
		return errors.Is(err, batch.ErrStopped)
	}, 10*time.Second, time.Millisecond, "nothing new is accepted")
	g.release <- struct{}{}
	require.Equal(t, []int{2}, <-g.batches)
	g.release <- struct{}{}
	require.NoError(t, <-stopped)
	require.NoError(t, errors.Join((<-answers[0]).err, (<-answers[1]).err))
	require.ErrorIs(t, g.Start(t.Context()), lifecycle.ErrStopped)
}

func TestStopWithAnEndedContextCancels(t *testing.T) {
	g := newGated(t, batch.Config[int, int]{MaxWeight: 1})
	answers := g.submit(t, t.Context(), 1, 2)
	require.NoError(t, g.Start(t.Context()))
	require.Equal(t, []int{1}, <-g.batches)
	require.ErrorIs(t, g.Stop(expired(t)), context.Canceled)
	require.ErrorIs(t, (<-answers[0]).err, context.Canceled, "the flush was canceled")
	require.ErrorIs(t, (<-answers[1]).err, batch.ErrStopped)
}

func TestStopBeforeStartAnswersWaitingItems(t *testing.T) {
	g := newGated(t, batch.Config[int, int]{MaxWeight: 1})
	answers := g.submit(t, t.Context(), 1)
	require.NoError(t, g.Stop(t.Context()))
	require.ErrorIs(t, (<-answers[0]).err, batch.ErrStopped)
	require.NoError(t, g.Stop(t.Context()))
}

func expired(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// TestManyCallers is for the race detector: each caller gets the answer to its own value.
func TestManyCallers(t *testing.T) {
	var flushing sync.Mutex
	b := batch.New(batch.Config[int, string]{MaxWeight: 16, Flush: func(_ context.Context, items []*batch.Item[int, string]) {
		require.True(t, flushing.TryLock(), "one flush at a time")
		defer flushing.Unlock()
		for _, item := range items {
			item.Answer(fmt.Sprint(item.Value), nil)
		}
	}})
	require.NoError(t, b.Start(t.Context()))
	var callers sync.WaitGroup
	for i := range 500 {
		callers.Go(func() {
			got, err := b.Submit(context.Background(), i)
			require.NoError(t, err)
			require.Equal(t, fmt.Sprint(i), got)
		})
	}
	callers.Wait()
	require.NoError(t, b.Stop(t.Context()))
}

func TestOldestCountsWhatIsNotAnswered(t *testing.T) {
	clk := clock.NewFake(time.Unix(1000, 0))
	g := newGated(t, batch.Config[int, int]{MaxWeight: 2, Clock: clk})
	require.Zero(t, g.Oldest())
	answers := g.submit(t, t.Context(), 1, 2)
	clk.Step(5 * time.Second)
	answers = append(answers, g.submit(t, t.Context(), 3)...)
	clk.Step(2 * time.Second)
	require.Equal(t, 7*time.Second, g.Oldest(), "nothing has started")
	require.NoError(t, g.Start(t.Context()))
	<-g.batches
	require.Equal(t, 7*time.Second, g.Oldest(), "a flush in progress has not answered")
	g.release <- struct{}{}
	<-g.batches
	require.Equal(t, 2*time.Second, g.Oldest(), "the first batch is answered")
	g.release <- struct{}{}
	for _, answer := range answers {
		<-answer
	}
	require.Zero(t, g.Oldest())
	require.NoError(t, g.Stop(t.Context()))
}
