package reconciler

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// cleaning is a queue whose cleanups note how long they waited.
type cleaning struct {
	*cleanupQueue
	t    *testing.T
	work *background

	mu     sync.Mutex
	waited []time.Duration // GUARDED_BY(mu): in the order in which they ran
	most   int             // GUARDED_BY(mu): how many ran at once
	now    int             // GUARDED_BY(mu)
}

func newCleaning(t *testing.T) *cleaning {
	work := &background{}
	t.Cleanup(work.Close)
	return &cleaning{cleanupQueue: newCleanupQueue(clock.System{}, work), t: t, work: work}
}

// clean adds a cleanup that takes some time.
func (c *cleaning) clean(ctx context.Context, takes time.Duration) {
	since := time.Now()
	c.add(ctx, func(context.Context) {
		c.mu.Lock()
		c.waited = append(c.waited, time.Since(since))
		c.now++
		c.most = max(c.most, c.now)
		c.mu.Unlock()
		pass(takes)
		c.mu.Lock()
		c.now--
		c.mu.Unlock()
	})
}

// waits is how long one more cleanup waits, in an otherwise empty queue.
func (c *cleaning) waits() time.Duration {
	c.t.Helper()
	before := len(c.ran())
	c.clean(c.t.Context(), 0)
	synctest.Wait()
	for len(c.ran()) == before {
		pass(time.Millisecond)
	}
	return c.ran()[before]
}

// ran is how long the cleanups waited that ran.
func (c *cleaning) ran() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.waited)
}

// atOnce is how many ran at once.
func (c *cleaning) atOnce() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.most
}

func (c *cleaning) progress(count int, every time.Duration) {
	for range count {
		c.progressed()
		pass(every)
	}
}

// keepProgressing makes a burst that lasts until stop is called.
func (c *cleaning) keepProgressing() (stop func()) {
	c.progress(burstSize, 0)
	ctx, cancel := context.WithCancel(c.t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		for ctx.Err() == nil {
			c.progress(1, time.Millisecond)
		}
	})
	return func() { cancel(); group.Wait() }
}

func pass(d time.Duration) {
	if d > 0 {
		_ = clock.Sleep(context.Background(), clock.System{}, d)
	}
}

func TestCleanupQueue(t *testing.T) {
	for name, test := range map[string]func(*testing.T, *cleaning){
		"without a burst, nothing waits": func(t *testing.T, q *cleaning) {
			require.Zero(t, q.waits())
			q.progress(burstSize-1, 0)
			require.Zero(t, q.waits())
			q.progress(10*burstSize, 2*burstWindow/burstSize) // often enough to last, not to be a burst
			require.Zero(t, q.waits())
		},
		"a cleanup waits for the end of a burst": func(t *testing.T, q *cleaning) {
			q.progress(burstSize, 0)
			require.InDelta(t, burstWindow, q.waits(), float64(burstPoll))
		},
		"but not longer than some seconds": func(t *testing.T, q *cleaning) {
			stop := q.keepProgressing()
			defer stop()
			for range 3 * maxCleanups {
				q.clean(t.Context(), 0)
			}
			pass(maxCleanupDelay + 2*burstPoll)
			require.Len(t, q.ran(), 3*maxCleanups)
			for _, waited := range q.ran() {
				require.InDelta(t, maxCleanupDelay, waited, float64(burstPoll))
			}
		},
		"a burst delays only so many": func(t *testing.T, q *cleaning) {
			stop := q.keepProgressing()
			for range maxDelayedCleanups + 100 {
				q.clean(t.Context(), 0)
			}
			pass(2 * burstPoll)
			require.Len(t, q.ran(), 100, "the first ones")
			stop()
			pass(burstWindow + 2*burstPoll)
			require.Len(t, q.ran(), maxDelayedCleanups+100)
		},
		"some run at once": func(t *testing.T, q *cleaning) {
			for range 3 * maxCleanups {
				q.clean(t.Context(), time.Second)
			}
			pass(2500 * time.Millisecond)
			require.Len(t, q.ran(), 3*maxCleanups)
			require.Equal(t, maxCleanups, q.atOnce())
			pass(time.Second)
		},
		"a slow cleanup does not delay the others": func(t *testing.T, q *cleaning) {
			stop := q.keepProgressing()
			q.clean(t.Context(), time.Hour)
			stop()
			pass(time.Second)
			require.Zero(t, q.waits())
			q.progress(burstSize, 0)
			require.InDelta(t, burstWindow, q.waits(), float64(burstPoll), "one that came during a burst")
		},
		"nothing runs after the end of the process": func(t *testing.T, q *cleaning) {
			defer q.keepProgressing()()
			ctx, stop := context.WithCancel(t.Context())
			q.clean(ctx, 0)
			stop()
			q.work.Close()
			q.clean(ctx, 0)
			pass(2 * maxCleanupDelay)
			require.Empty(t, q.ran())
		},
		"a clock that is set back ends a burst": func(t *testing.T, q *cleaning) {
			for i := range q.recent {
				q.recent[i] = time.Now().Add(time.Hour)
			}
			require.Zero(t, q.waits())
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, newCleaning(t)) })
		})
	}
}
