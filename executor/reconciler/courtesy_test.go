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

func TestCourtesy(t *testing.T) {
	// waits is how long a cleanup waits.
	waits := func(c *courtesy) time.Duration {
		since := time.Now()
		c.turn(context.Background())()
		return time.Since(since)
	}
	pass := func(d time.Duration) { require.NoError(t, clock.Sleep(context.Background(), clock.System{}, d)) }
	notes := func(c *courtesy, count int, every time.Duration) {
		for range count {
			c.note()
			pass(every)
		}
	}
	t.Run("without a burst, nothing waits", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newCourtesy(clock.System{})
			require.Zero(t, waits(c))
			notes(c, crowd-1, 0)
			require.Zero(t, waits(c))
			notes(c, 10*crowd, 2*crowdTime/crowd) // often enough to last, not to be a burst
			require.Zero(t, waits(c))
		})
	})
	t.Run("a cleanup waits for the end of a burst", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newCourtesy(clock.System{})
			notes(c, crowd, 0)
			require.InDelta(t, crowdTime, waits(c), float64(glance))
		})
	})
	t.Run("but not longer than some seconds", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newCourtesy(clock.System{})
			ctx, stop := context.WithCancel(t.Context())
			var noting sync.WaitGroup
			noting.Go(func() {
				for ctx.Err() == nil {
					notes(c, 1, time.Millisecond)
				}
			})
			defer noting.Wait()
			defer stop()
			pass(time.Second)
			require.InDelta(t, longestCourtesy, waits(c), float64(glance))
			late := make(chan time.Duration, 3*maxCleanups)
			for range cap(late) {
				go func() { late <- waits(c) }()
			}
			for range cap(late) {
				require.InDelta(t, longestCourtesy, <-late, float64(glance), "those that wait for others do not wait longer")
			}
		})
	})
	t.Run("and not when many wait", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newCourtesy(clock.System{})
			notes(c, crowd, 0)
			ctx, stop := context.WithCancel(t.Context())
			for range maxCourtesies {
				go func() { c.turn(ctx)() }()
			}
			synctest.Wait()
			require.Zero(t, waits(c))
			stop()
			synctest.Wait()
			require.Zero(t, c.waiting, "the end of the process ends all waits")
		})
	})
	t.Run("a clock that is set back ends a burst", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newCourtesy(clock.System{})
			for i := range c.recent {
				c.recent[i] = time.Now().Add(time.Hour)
			}
			require.Zero(t, waits(c))
		})
	})
}
