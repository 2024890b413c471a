package clock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func TestSleepEndsByTheClockOrTheContext(t *testing.T) {
	fake := clock.NewFake(time.Unix(0, 0))
	woken := make(chan error)
	go func() { woken <- clock.Sleep(t.Context(), fake, time.Hour) }()
	require.Eventually(t, func() bool { return fake.Timers() == 1 }, 10*time.Second, time.Millisecond)
	fake.Step(time.Hour - 1)
	require.Equal(t, 1, fake.Timers(), "not before the hour")
	fake.Step(time.Microsecond)
	require.NoError(t, <-woken)

	ctx, cancel := context.WithCancel(t.Context())
	go func() { woken <- clock.Sleep(ctx, fake, time.Hour) }()
	require.Eventually(t, func() bool { return fake.Timers() == 1 }, 10*time.Second, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-woken, context.Canceled)
	require.Zero(t, fake.Timers(), "the timer is stopped")

	require.ErrorIs(t, clock.Sleep(ctx, fake, 0), context.Canceled, "an ended context wins over a pause that is over")
}

func TestAwaitEndsAtASignalThatCounts(t *testing.T) {
	fake := clock.NewFake(time.Unix(0, 0))
	woken, signal := make(chan error), make(chan struct{})
	go func() { woken <- clock.Await(t.Context(), fake, time.Hour, signal) }()
	signal <- struct{}{}
	require.NoError(t, <-woken)
	require.Zero(t, fake.Timers(), "the timer is stopped")

	signals := 0
	go func() {
		woken <- clock.AwaitThat(t.Context(), fake, time.Hour, signal, func() bool { signals++; return signals == 3 })
	}()
	for range 3 {
		signal <- struct{}{}
	}
	require.NoError(t, <-woken)
	require.Equal(t, 3, signals)

	go func() {
		woken <- clock.AwaitThat(t.Context(), fake, time.Hour, signal, func() bool { return false })
	}()
	signal <- struct{}{}
	fake.Step(time.Hour)
	require.NoError(t, <-woken, "signals that do not count do not prolong it")

	ctx, cancel := context.WithCancel(t.Context())
	go func() { woken <- clock.Await(ctx, fake, time.Hour, signal) }()
	cancel()
	require.ErrorIs(t, <-woken, context.Canceled)
}
