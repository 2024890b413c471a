package leased_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle/lifecycletest"
)

// mine are leases that this process holds at once.
type mine struct{}

func (mine) Hold(ctx context.Context, _ string, _ time.Duration, work func(context.Context) error) error {
	return work(ctx)
}

func TestLifecycle(t *testing.T) {
	t.Parallel()
	lifecycletest.Stress(t, func() lifecycle.Part {
		return &leased.Loop{
			Leases: mine{}, Name: "x", Length: time.Second, Logger: zerolog.Nop(),
			Work: leased.Every(clock.System{}, time.Millisecond, func(context.Context) error { return nil }),
		}
	})
}

func TestAFailedPassIsRepeatedAfterThePause(t *testing.T) {
	t.Parallel()
	clk := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	passes := make(chan int)
	n := 0
	var log bytes.Buffer
	loop := &leased.Loop{
		Leases: mine{}, Name: "x", Length: time.Second, Logger: zerolog.New(&log),
		Work: leased.Every(clk, time.Minute, func(context.Context) error {
			n++
			passes <- n
			return errors.New("the database is away")
		}),
	}
	require.NoError(t, loop.Start(t.Context()))
	require.Equal(t, 1, <-passes)
	require.Eventually(t, func() bool { return clk.Timers() == 1 }, 10*time.Second, time.Millisecond)
	clk.Step(time.Minute)
	require.Equal(t, 2, <-passes)
	require.NoError(t, loop.Stop(t.Context()))
	require.Contains(t, log.String(), "the database is away")
}

func TestDrain(t *testing.T) {
	t.Parallel()
	left := 25
	step := func(size int) (int, error) {
		n := min(left, size)
		left -= n
		return n, nil
	}
	total, err := leased.Drain(10, step)
	require.NoError(t, err)
	require.Equal(t, 25, total)
	left = 20
	total, err = leased.Drain(10, func(size int) (int, error) {
		n, _ := step(size)
		return n, errors.New("away")
	})
	require.Error(t, err)
	require.Equal(t, 10, total)
}

// lost are leases that are lost once while the work continues.
type lost struct{ times *int }

func (l lost) Hold(ctx context.Context, _ string, _ time.Duration, work func(context.Context) error) error {
	for ctx.Err() == nil {
		*l.times++
		held, lose := context.WithCancel(ctx)
		if *l.times == 1 {
			lose()
		}
		_ = work(held)
		lose()
	}
	return nil
}

func TestOnceIsDoneWhileTheLeaseIsHeld(t *testing.T) {
	t.Parallel()
	var times int
	require.NoError(t, leased.Once(t.Context(), lost{&times}, "x", time.Second, func(ctx context.Context) error { return ctx.Err() }))
	require.Equal(t, 2, times, "what the loss of the lease interrupted is done again, and what was done is not")
	broken := errors.New("broken")
	require.ErrorIs(t, leased.Once(t.Context(), mine{}, "x", time.Second, func(context.Context) error { return broken }), broken)
}
