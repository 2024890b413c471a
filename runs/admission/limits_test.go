package admission_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

const root = ident.RootAction

func priority(n int32) func(*schema.Root) { return func(r *schema.Root) { r.Priority = n } }

func TestActionsOfAQueue(t *testing.T) {
	f := newFixture(t, 100, 10, queues.Queue{Name: "gpu", MaxActions: 2})
	f.Gate().Set(100, 0)
	for i := range 4 {
		f.run(fmt.Sprint("g", i), "gpu", nil)
	}
	require.Empty(t, f.live(), "the gate does not admit actions with a limit")
	f.run("free", "", nil)
	f.run("other", "default", nil)
	require.Equal(t, []string{"free/a0", "other/a0"}, f.live(), "and admits the others")
	f.drain()
	require.Equal(t, []string{"free/a0", "other/a0", "g0/a0", "g1/a0"}, f.live())
	f.end("g0", root)
	f.drain()
	require.Equal(t, []string{"free/a0", "other/a0", "g1/a0", "g2/a0"}, f.live())
	// A child in another queue is not held back.
	f.child("g1", root, "small", "default")
	require.Contains(t, f.live(), "g1/small")
	f.drain()
	require.Contains(t, f.live(), "g3/a0", "g1 waits for its child, and its place is free meanwhile")
}

func TestRunsOfAQueue(t *testing.T) {
	f := newFixture(t, 100, 10, queues.Queue{Name: "nightly", MaxRuns: 2})
	f.Gate().Set(100, 0)
	for i := range 4 {
		f.run(fmt.Sprint("n", i), "nightly", nil)
	}
	f.drain()
	require.Equal(t, []string{"n0/a0", "n1/a0"}, f.live(), "in order")
	f.children("n0", root, 3, "nightly")
	require.Len(t, f.live(), 5, "children of a run that has begun wait for nothing")
	f.drain()
	require.Len(t, f.live(), 5, "a run that waits for children is still live")
	f.end("n1", root)
	f.drain()
	require.Contains(t, f.live(), "n2/a0")
	require.NotContains(t, f.live(), "n3/a0")
}

func TestTheDefaultQueueMayHaveLimits(t *testing.T) {
	f := newFixture(t, 100, 10, queues.Queue{Name: "default", MaxActions: 1}, queues.Queue{Name: "gpu"})
	f.Gate().Set(100, 0)
	f.run("a", "", nil)
	f.run("b", "default", nil)
	f.run("c", "gpu", nil)
	require.Equal(t, []string{"c/a0"}, f.live())
	f.drain()
	require.Equal(t, []string{"c/a0", "a/a0"}, f.live())
}

// A parent takes no place while it waits, even under the tightest limits.
func TestParentsThatWaitDoNotHoldTheQueue(t *testing.T) {
	f := newFixture(t, 1, 1, queues.Queue{Name: "narrow", MaxActions: 1, MaxRuns: 1})
	f.run("r", "narrow", func(r *schema.Root) { r.MaxConcurrency = 2 })
	f.drain()
	parent := root
	for depth := range 5 {
		for i := range 2 {
			f.child("r", parent, fmt.Sprintf("d%d-%d", depth, i), "narrow")
		}
		parent = fmt.Sprintf("d%d-0", depth)
	}
	const children = 10
	for ended := 0; ended < children; ended++ {
		f.drain()
		var leaves []string
		for _, name := range f.live() {
			if name = strings.TrimPrefix(name, "r/"); f.leaf("r", name) {
				leaves = append(leaves, name)
			}
		}
		require.Len(t, leaves, 1, "exactly one is running")
		f.end("r", leaves[0])
	}
	require.Equal(t, []string{"r/a0"}, f.live(), "all have ended")
}

func (f *fixture) leaf(run, name string) bool {
	f.t.Helper()
	var n int
	require.NoError(f.t, f.pool.QueryRow(f.t.Context(),
		`SELECT count(*) FROM actions WHERE run_name = $1 AND parent_name = $2 AND ended_at IS NULL`, run, name).Scan(&n))
	return n == 0
}

func TestPriorities(t *testing.T) {
	f := newFixture(t, 3, 10, queues.Queue{Name: "urgent", Priority: 10}, queues.Queue{Name: "batch", Priority: -10})
	for i := range 3 {
		f.run(fmt.Sprint("batch", i), "batch", nil)
	}
	f.run("plain", "", nil)
	f.run("later", "", priority(-5))
	f.run("sooner", "", priority(5))
	for i := range 3 {
		f.run(fmt.Sprint("urgent", i), "urgent", nil)
	}
	order := []string{}
	for range 9 {
		f.drain()
		live := f.live()
		for _, name := range live {
			if !slices.Contains(order, name) {
				order = append(order, name)
			}
		}
		f.end(strings.TrimSuffix(live[0], "/a0"), root)
	}
	// Each queue gets one place first, so that none starves; the rest follow the priority of the queues, then of the
	// runs.
	require.ElementsMatch(t, []string{"urgent0/a0", "sooner/a0", "batch0/a0"}, order[:3])
	require.Len(t, order, 9)
	require.Less(t, slices.Index(order, "plain/a0"), slices.Index(order, "later/a0"))
}

// A queue of low priority keeps its guaranteed place, whatever urgent work arrives.
func TestLowPriorityQueueDoesNotStarve(t *testing.T) {
	f := newFixture(t, 4, 10, queues.Queue{Name: "urgent", Priority: 100}, queues.Queue{Name: "low", Priority: -100, MinActions: 2})
	for i := range 3 {
		f.run(fmt.Sprint("low", i), "low", nil)
	}
	for i := range 50 {
		f.run(fmt.Sprint("urgent", i), "urgent", nil)
	}
	done := 0
	for range 10 {
		f.drain()
		live := f.live()
		require.Len(t, live, 4)
		low := slices.ContainsFunc(live, func(name string) bool { return strings.HasPrefix(name, "low") })
		require.True(t, low || done == 3, "%v", live)
		for _, name := range live {
			f.end(strings.TrimSuffix(name, "/a0"), root)
			if strings.HasPrefix(name, "low") {
				done++
			}
		}
	}
	require.Equal(t, 3, done)
}

func TestBuiltinActionsTakeNoPlaceOfTheInstallation(t *testing.T) {
	f := newFixture(t, 2, 10, queues.Queue{Name: "timers", MaxActions: 3})
	engine := func(r *schema.Root) { r.Runner = schema.RunnerBuiltin }
	for i := range 4 {
		f.run(fmt.Sprint("e", i), "timers", engine)
		f.run(fmt.Sprint("x", i), "", nil)
	}
	f.drain()
	require.ElementsMatch(t, []string{"e0/a0", "e1/a0", "e2/a0", "x0/a0", "x1/a0"}, f.live(), "but places of their queue")
	f.run("direct", "", engine)
	require.Contains(t, f.live(), "direct/a0", "the gate does not apply to it")
}

// Story R11: queues and limits of concurrency were accepted and never enforced.
func TestQueueDepthIsEnforced(t *testing.T) {
	f := newFixture(t, 100, 10, queues.Queue{Name: "short", MaxActions: 1, MaxDepth: 3})
	f.run("r", "short", nil)
	f.drain()
	f.children("r", root, 2, "short")
	require.NoError(t, f.tryChild("r", root, "held", "short", func(a *schema.Action) { a.Hold = schema.HoldCache }), "one that the cache holds waits too")
	err := f.tryChild("r", root, "late", "short", nil)
	require.Equal(t, rpc.KindResourceExhausted, rpc.KindOf(err))
	require.ErrorContains(t, err, "queue short is full: 3 actions are waiting and its limit is 3")
	require.Equal(t, rpc.KindResourceExhausted, rpc.KindOf(f.tryRun("s", "short", nil)))
	require.NoError(t, f.tryChild("r", root, "a0-0", "short", nil), "an existing action is not a new one")
	f.run("elsewhere", "", nil)
	f.drain() // the root waits now, and one of its children takes its place
	require.NoError(t, f.tryChild("r", root, "late", "short", nil))
}

// Two hundred callers on two replicas fill the queue exactly to its limit.
func TestDepthHoldsUnderABurst(t *testing.T) {
	f := newFixture(t, 100, 10, queues.Queue{Name: "short", MaxDepth: 60, MaxActions: 1})
	other := fixtureOn(t, f.pool, 100, 10, queues.Queue{Name: "short", MaxDepth: 60, MaxActions: 1})
	f.run("r", "short", nil)
	f.drain()
	var accepted, refused atomic.Int64
	var group sync.WaitGroup
	for i := range 200 {
		on := []*fixture{f, other}[i%2]
		group.Go(func() {
			switch err := on.tryChild("r", root, fmt.Sprint("c", i), "short", nil); {
			case err == nil:
				accepted.Add(1)
			case rpc.KindOf(err) == rpc.KindResourceExhausted:
				refused.Add(1)
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 60, accepted.Load())
	require.EqualValues(t, 140, refused.Load())
}

func TestNewConfigurationAppliesToWaitingActions(t *testing.T) {
	f := newFixture(t, 100, 10, queues.Queue{Name: "a", MaxActions: 1}, queues.Queue{Name: "b", MaxActions: 1})
	for i := range 4 {
		f.run(fmt.Sprint("a", i), "a", nil)
		f.run(fmt.Sprint("b", i), "b", nil)
	}
	f.drain()
	require.Len(t, f.live(), 2)
	f.configure(100, 10, queues.Queue{Name: "a", MaxActions: 3}, queues.Queue{Name: "default", MaxActions: 2}) // b is gone
	f.drain()
	live := f.live()
	require.Len(t, live, 5, "%v", live)
	f.run("c", "", nil)
	f.drain()
	require.Len(t, f.live(), 5, "what was in b is now in the default queue, which is full")
	f.configure(100, 10)
	f.drain()
	require.Len(t, f.live(), 9)
}

func TestAdmissionRequiresTheLease(t *testing.T) {
	f := newFixture(t, 100, 10)
	f.run("r", "", nil)
	backlog, err := f.queue.Backlog(t.Context(), 10, 10)
	require.NoError(t, err)
	queued := []store.Queued{{RunID: backlog.Waiting[0].IDs[0], ID: backlog.Waiting[0].IDs[0]}}
	_, err = f.Admit(t.Context(), "admission", queued)
	require.Equal(t, rpc.KindAborted, rpc.KindOf(err))
	_, err = f.pool.Exec(t.Context(), `INSERT INTO leases VALUES ('admission', 'other', now() + interval '1 hour')`)
	require.NoError(t, err)
	_, err = f.Admit(t.Context(), "admission", queued)
	require.Equal(t, rpc.KindAborted, rpc.KindOf(err))
	require.Empty(t, f.live())
	_, err = f.pool.Exec(t.Context(), `UPDATE leases SET holder = 'test'`)
	require.NoError(t, err)
	n, err := f.Admit(t.Context(), "admission", queued)
	require.NoError(t, err)
	require.Equal(t, 1, n)
}
