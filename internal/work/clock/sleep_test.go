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
