package size_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/wire/sentence"
	"github.com/flyte-binary/flyte-binary/pools/size"
)

func TestExplain(t *testing.T) {
	live := func(busy, blocked int) size.Worker {
		return size.Worker{Started: true, Slots: 2, Busy: busy, Blocked: blocked}
	}
	later := start.Add(time.Minute)
	for name, c := range map[string]struct {
		workers []size.Worker
		waiter  size.Waiter
		trouble size.Trouble
		cause   size.Cause
		text    string
	}{
		"a free slot":            {[]size.Worker{live(1, 0)}, size.Waiter{}, size.Trouble{}, size.Nothing, "about to take it"},
		"a free slot for others": {[]size.Worker{live(1, 0), live(2, 0)}, size.Waiter{Ahead: 1}, size.Trouble{}, size.Slots, "all slots are taken: 2 workers run"},
		"a slot in reserve": {
			[]size.Worker{live(2, 0), live(2, 0), {Started: true, Slots: 2, Reserve: true}}, size.Waiter{}, size.Trouble{}, size.Slots, "all slots are taken",
		},
		"the most workers":     {[]size.Worker{live(2, 0), live(2, 0)}, size.Waiter{}, size.Trouble{}, size.Slots, "with 2 slots each"},
		"blocked workers":      {[]size.Worker{live(2, 2), live(2, 0)}, size.Waiter{}, size.Trouble{}, size.Starts, "about to be started"},
		"no worker yet":        {nil, size.Waiter{}, size.Trouble{}, size.Starts, "about to be started"},
		"a worker starts":      {[]size.Worker{{Slots: 2}}, size.Waiter{}, size.Trouble{}, size.Starts, "1 worker is starting"},
		"a worker cannot":      {[]size.Worker{{Slots: 2}}, size.Waiter{}, size.Trouble{Reason: "no such image"}, size.Problem, "no worker can start: no such image"},
		"none can":             {nil, size.Waiter{}, size.Trouble{Reason: "no such image", RetryAt: later}, size.Problem, "the next try is at 2023-11-14T22:14:20Z"},
		"no further one can":   {[]size.Worker{live(2, 0)}, size.Waiter{}, size.Trouble{Reason: "no room", RetryAt: later}, size.Problem, "no further worker can start: no room"},
		"the pause of a retry": {[]size.Worker{live(0, 0)}, size.Waiter{NotBefore: later}, size.Trouble{}, size.Backoff, "2023-11-14T22:14:20Z"},
	} {
		t.Run(name, func(t *testing.T) {
			p := size.Pool{Policy: size.Policy{Max: 2, Concurrency: 2}, Waiting: 1 + c.waiter.Ahead, Workers: c.workers}
			w := size.Explain(p, c.waiter, c.trouble, start)
			require.Equal(t, c.cause, w.Cause, w.Says)
			require.Contains(t, sentence.English(w.Says...), c.text)
			require.Equal(t, c.cause == size.Slots, w.Limit > 0)
			if c.cause == size.Slots {
				require.Equal(t, 4, w.Limit)
				require.Positive(t, w.Used)
			}
		})
	}
}
