package reconciler

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/clock"
)

func TestCleanupGate(t *testing.T) {
	// waits is how long a cleanup waits.
	waits := func(g *cleanupGate) time.Duration {
		since := time.Now()
		g.enter(context.Background())()
		return time.Since(since)
	}
	pass := func(d time.Duration) { require.NoError(t, clock.Sleep(context.Background(), clock.System{}, d)) }
	progress := func(g *cleanupGate, count int, every time.Duration) {
		for range count {
			g.progressed()
			pass(every)
		}
	}
	t.Run("without a burst, nothing waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newCleanupGate(clock.System{})
			require.Zero(t, waits(g))
			progress(g, burstSize-1, 0)
			require.Zero(t, waits(g))
			progress(g, 10*burstSize, 2*burstWindow/burstSize) // often enough to last, not to be a burst
			require.Zero(t, waits(g))
		})
	})
	t.Run("a cleanup waits for the end of a burst", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newCleanupGate(clock.System{})
			progress(g, burstSize, 0)
			require.InDelta(t, burstWindow, waits(g), float64(burstPoll))
		})
	})
	t.Run("but not longer than some seconds", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newCleanupGate(clock.System{})
			ctx, stop := context.WithCancel(t.Context())
			var progressing sync.WaitGroup
			progressing.Go(func() {
				for ctx.Err() == nil {
					progress(g, 1, time.Millisecond)
				}
			})
			defer progressing.Wait()
			defer stop()
			pass(time.Second)
			require.InDelta(t, maxCleanupDelay, waits(g), float64(burstPoll))
			late := make(chan time.Duration, 3*maxCleanups)
			for range cap(late) {
				go func() { late <- waits(g) }()
			}
			for range cap(late) {
				require.InDelta(t, maxCleanupDelay, <-late, float64(burstPoll), "those that wait for others do not wait longer")
			}
		})
	})
	t.Run("and not when many wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newCleanupGate(clock.System{})
			progress(g, burstSize, 0)
			ctx, stop := context.WithCancel(t.Context())
			for range maxDelayedCleanups {
				go func() { g.enter(ctx)() }()
			}
			synctest.Wait()
			require.Zero(t, waits(g))
			stop()
			synctest.Wait()
			require.Zero(t, g.delayed, "the end of the process ends all waits")
		})
	})
	t.Run("a clock that is set back ends a burst", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newCleanupGate(clock.System{})
			for i := range g.recent {
				g.recent[i] = time.Now().Add(time.Hour)
			}
			require.Zero(t, waits(g))
		})
	})
}
