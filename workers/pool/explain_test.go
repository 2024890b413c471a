package pool_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/workers/pool"
)

func TestExplain(t *testing.T) {
	live := func(busy, blocked int) pool.Worker {
		return pool.Worker{Started: true, Slots: 2, Busy: busy, Blocked: blocked}
	}
	later := start.Add(time.Minute)
	for name, c := range map[string]struct {
		workers []pool.Worker
		waiter  pool.Waiter
		trouble pool.Trouble
		cause   pool.Cause
		text    string
	}{
		"a free slot":            {[]pool.Worker{live(1, 0)}, pool.Waiter{}, pool.Trouble{}, pool.Nothing, "about to take it"},
		"a free slot for others": {[]pool.Worker{live(1, 0), live(2, 0)}, pool.Waiter{Ahead: 1}, pool.Trouble{}, pool.Slots, "all slots are taken: 2 workers run"},
		"a slot in reserve": {
			[]pool.Worker{live(2, 0), live(2, 0), {Started: true, Slots: 2, Reserve: true}}, pool.Waiter{}, pool.Trouble{}, pool.Slots, "all slots are taken",
		},
		"the most workers":     {[]pool.Worker{live(2, 0), live(2, 0)}, pool.Waiter{}, pool.Trouble{}, pool.Slots, "with 2 slots each"},
		"blocked workers":      {[]pool.Worker{live(2, 2), live(2, 0)}, pool.Waiter{}, pool.Trouble{}, pool.Starts, "about to be started"},
		"no worker yet":        {nil, pool.Waiter{}, pool.Trouble{}, pool.Starts, "about to be started"},
		"a worker starts":      {[]pool.Worker{{Slots: 2}}, pool.Waiter{}, pool.Trouble{}, pool.Starts, "1 worker is starting"},
		"a worker cannot":      {[]pool.Worker{{Slots: 2}}, pool.Waiter{}, pool.Trouble{Reason: "no such image"}, pool.Problem, "no worker can start: no such image"},
		"none can":             {nil, pool.Waiter{}, pool.Trouble{Reason: "no such image", RetryAt: later}, pool.Problem, "the next try is at 2023-11-14T22:14:20Z"},
		"no further one can":   {[]pool.Worker{live(2, 0)}, pool.Waiter{}, pool.Trouble{Reason: "no room", RetryAt: later}, pool.Problem, "no further worker can start: no room"},
		"the pause of a retry": {[]pool.Worker{live(0, 0)}, pool.Waiter{NotBefore: later}, pool.Trouble{}, pool.Backoff, "2023-11-14T22:14:20Z"},
	} {
		t.Run(name, func(t *testing.T) {
			p := pool.Pool{Policy: pool.Policy{Max: 2, Concurrency: 2}, Waiting: 1 + c.waiter.Ahead, Workers: c.workers}
			w := pool.Explain(p, c.waiter, c.trouble, start)
			require.Equal(t, c.cause, w.Cause, w.Message)
			require.Contains(t, w.Message, c.text)
			require.Equal(t, c.cause == pool.Slots, w.Limit > 0)
			if c.cause == pool.Slots {
				require.Equal(t, 4, w.Limit)
				require.Positive(t, w.Used)
			}
		})
	}
}
