package leased_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
)

func TestAQueueReadsItsListWhenSomethingEnds(t *testing.T) {
	fake := clock.NewFake(time.Unix(0, 0))
	list := make(chan int, 5)
	for i := range 5 {
		list <- i
	}
	var done atomic.Int32
	q := &leased.Queue{Clock: fake, Poll: time.Minute, Launch: func(_ context.Context, start func(do func())) error {
		select {
		case <-list: // one place
			start(func() { done.Add(1) })
			return nil
		default:
			return errors.New("the list is empty")
		}
	}}
	ctx, cancel := context.WithCancel(t.Context())
	worked := make(chan error)
	go func() { worked <- q.Work(ctx) }()
	require.Eventually(t, func() bool { return done.Load() == 5 }, 10*time.Second, time.Millisecond, "no poll is necessary")

	list <- 6
	q.Wake()
	require.Eventually(t, func() bool { return done.Load() == 6 }, 10*time.Second, time.Millisecond)
	list <- 7
	require.Eventually(t, func() bool {
		fake.Step(time.Minute)
		return done.Load() == 7
	}, 10*time.Second, time.Millisecond, "a lost wake-up costs no more than the poll")
	cancel()
	require.NoError(t, <-worked)
}

func TestAQueueWaitsForWhatItHasStarted(t *testing.T) {
	began, finish := make(chan struct{}), make(chan struct{})
	var finished atomic.Bool
	q := &leased.Queue{Clock: clock.System{}, Poll: time.Hour, Launch: func(_ context.Context, start func(do func())) error {
		start(func() {
			close(began)
			<-finish
			finished.Store(true)
		})
		return nil
	}}
	ctx, cancel := context.WithCancel(t.Context())
	worked := make(chan error)
	go func() { worked <- q.Work(ctx) }()
	<-began
	cancel()
	close(finish)
	require.NoError(t, <-worked)
	require.True(t, finished.Load())
}
