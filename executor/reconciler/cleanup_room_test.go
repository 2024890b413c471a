package reconciler

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// roomAfter is how long a new object waits for room.
func (c *cleaning) roomAfter(ctx context.Context) time.Duration {
	began := time.Now()
	c.awaitRoom(ctx)
	return time.Since(began)
}

// fill adds cleanups beyond those that may be delayed.
func (c *cleaning) fill(ctx context.Context, beyond int, takes time.Duration) {
	for range maxDelayedCleanups + beyond {
		c.clean(ctx, takes)
	}
	synctest.Wait()
}

func TestRoomForNewObjects(t *testing.T) {
	for name, test := range map[string]func(*testing.T, *cleaning){
		"there is room while as many cleanups wait as a burst may delay": func(t *testing.T, q *cleaning) {
			defer q.keepProgressing()()
			q.fill(t.Context(), 0, 0)
			require.Equal(t, maxDelayedCleanups, q.size())
			require.Zero(t, q.roomAfter(t.Context()))
		},
		"new objects wait until the rest has begun": func(t *testing.T, q *cleaning) {
			defer q.keepProgressing()()
			q.fill(t.Context(), 3*maxCleanups, 500*time.Millisecond)
			pass(600 * time.Millisecond)
			require.InDelta(t, 400*time.Millisecond, q.roomAfter(t.Context()), float64(3*burstPoll), "the third round of cleanups")
			require.Equal(t, maxDelayedCleanups, q.size())
		},
		"they do not wait for cleanups of which none ends": func(t *testing.T, q *cleaning) {
			for range maxCleanups {
				q.clean(t.Context(), 100*time.Millisecond)
			}
			q.fill(t.Context(), maxCleanups+1, time.Hour)
			require.Zero(t, q.roomAfter(t.Context()), "none has ended yet")
			pass(150 * time.Millisecond)
			require.InDelta(t, roomPatience-50*time.Millisecond, q.roomAfter(t.Context()), float64(2*burstPoll))
			require.Zero(t, q.roomAfter(t.Context()), "nor has one since")
		},
		"nor after the end of the process": func(t *testing.T, q *cleaning) {
			q.fill(t.Context(), 3*maxCleanups, 500*time.Millisecond)
			pass(600 * time.Millisecond)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			defer cancel()
			require.Equal(t, 10*time.Millisecond, q.roomAfter(ctx))
		},
		"nor for a clock that was set back": func(t *testing.T, q *cleaning) {
			q.fill(t.Context(), 3*maxCleanups, time.Hour)
			q.mu.Lock()
			q.ended = time.Now().Add(time.Hour)
			q.mu.Unlock()
			require.Zero(t, q.roomAfter(t.Context()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, newCleaning(t)) })
		})
	}
}
