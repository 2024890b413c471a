package backoff_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func TestPausesDoubleUpToTheMaximum(t *testing.T) {
	b := backoff.New(100*time.Millisecond, time.Second)
	for range 2 {
		for _, nominal := range []int{100, 200, 400, 800, 1000, 1000} {
			wanted := float64(time.Duration(nominal) * time.Millisecond)
			require.InDelta(t, wanted, b.Next(), wanted/4+1)
		}
		require.Equal(t, 6, b.Failures())
		b.Reset()
	}
}

func TestPauseStaysWithinAQuarterForAnyInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := time.Duration(rapid.Int64Range(1, int64(24*time.Hour)).Draw(t, "first"))
		limit := time.Duration(rapid.Int64Range(int64(first), int64(48*time.Hour)).Draw(t, "limit"))
		failures := rapid.IntRange(-1, 1000).Draw(t, "failures")
		nominal := min(float64(first)*math.Pow(2, float64(max(0, failures-1))), float64(limit))
		require.InDelta(t, nominal, float64(backoff.After(first, limit, failures)), nominal/4+1)
	})
	require.Zero(t, backoff.After(0, 0, 3))
	require.InDelta(t, time.Second, backoff.After(time.Hour, time.Second, 1), float64(time.Second)/4, "the limit wins over the first pause")
}

func TestPausesVary(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 100 {
		seen[backoff.After(time.Second, time.Minute, 3)] = true
	}
	require.Greater(t, len(seen), 50)
}

func TestWaitEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	fake := clock.NewFake(time.Unix(0, 0))
	b, waited := backoff.New(time.Second, time.Minute), make(chan error)
	go func() { waited <- b.Wait(ctx, fake) }()
	require.Eventually(t, func() bool { return fake.Timers() == 1 }, 10*time.Second, time.Millisecond)
	fake.Step(1250 * time.Millisecond)
	require.NoError(t, <-waited)
	cancel()
	require.ErrorIs(t, b.Wait(ctx, fake), context.Canceled)
}
