package watch_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/watch"
)

func (f *fixture) actions(run ident.Run, filters ...*common.Filter) *stream[*workflow.WatchActionsResponse] {
	f.t.Helper()
	filter, err := watch.ParseTreeFilter(filters)
	require.NoError(f.t, err)
	return follow(f.t, func(ctx context.Context, send func(*workflow.WatchActionsResponse) error) error {
		return f.streams.Actions(ctx, run, filter, send)
	})
}

func byPhase(phases ...common.ActionPhase) *common.Filter {
	filter := &common.Filter{Field: "PHASE", Function: common.Filter_VALUE_IN}
	for _, phase := range phases {
		filter.Values = append(filter.Values, fmt.Sprint(int32(phase)))
	}
	return filter
}

func byName(part string) *common.Filter {
	return &common.Filter{Field: "NAME", Function: common.Filter_CONTAINS_CASE_INSENSITIVE, Values: []string{part}}
}

// console is what a client makes of the stream: the latest of each visible action. It fails when a child comes before
// its parent.
func console(t testing.TB, all []*workflow.WatchActionsResponse) map[string]string {
	t.Helper()
	visible := map[string]string{}
	known := map[string]bool{}
	for _, response := range all {
		require.LessOrEqual(t, len(response.GetEnrichedActions()), 1000)
		for _, enriched := range response.GetEnrichedActions() {
			action := enriched.GetAction()
			name := action.GetId().GetName()
			if parent := action.GetMetadata().GetParent(); parent != "" {
				require.True(t, known[parent], "%s comes before its parent %s", name, parent)
			}
			known[name] = true
			if !enriched.GetMeetsFilter() {
				delete(visible, name)
				continue
			}
			visible[name] = fmt.Sprint(int32(action.GetStatus().GetPhase()), enriched.GetChildrenPhaseCounts())
		}
	}
	return visible
}

func sees(t testing.TB, want map[string]string) func([]*workflow.WatchActionsResponse) bool {
	return func(all []*workflow.WatchActionsResponse) bool {
		return fmt.Sprint(console(t, all)) == fmt.Sprint(want)
	}
}

func TestActionsTree(t *testing.T) {
	f := newFixture(t)
	r := f.run("p", "development", "r1")
	r.child("x")
	r.apply(change{name: "y", parent: "x", phase: running})
	s := f.actions(r.Run)
	s.until(sees(t, map[string]string{"a0": "1 map[1:1 4:1]", "x": "1 map[4:1]", "y": "4 map[]"}), "the snapshot")
	require.Len(t, s.all(), 1)
	r.apply(change{name: "z", parent: "y", phase: queued})
	r.move("y", succeeded)
	r.move("a0", running)
	s.until(sees(t, map[string]string{"a0": "4 map[1:2 5:1]", "x": "1 map[1:1 5:1]", "y": "5 map[1:1]", "z": "1 map[]"}), "the changes")
	for range f.pool.Config().MaxConns {
		var sort string
		require.NoError(t, f.pool.QueryRow(t.Context(), `SHOW enable_sort`).Scan(&sort))
		require.Equal(t, "on", sort, "how a snapshot is planned stays within its transaction")
	}
	meta := s.all()[0].GetEnrichedActions()[0].GetAction().GetMetadata()
	require.Equal(t, "env.main", meta.GetTask().GetId().GetName())

	require.True(t, rpc.IsNotFound(f.actions(ident.Run{Project: "p", Domain: "production", Name: "r1"}).end()))
}

func TestActionsFilters(t *testing.T) {
	f := newFixture(t)
	r := f.run("p", "development", "r1")
	r.child("parent")
	r.apply(change{name: "c1", parent: "parent", phase: running, task: "env.Fetch"})
	r.apply(change{name: "c2", parent: "a0", phase: running, task: "fetching.other"})

	phase := f.actions(r.Run, byPhase(running, failed))
	name := f.actions(r.Run, byName("FETCH"))
	both := f.actions(r.Run, byName("fetch"), byPhase(succeeded))
	phase.until(sees(t, map[string]string{"a0": "1 map[1:1 4:2]", "parent": "1 map[4:1]", "c1": "4 map[]", "c2": "4 map[]"}), "the running ones")
	name.until(sees(t, map[string]string{"a0": "1 map[1:1 4:2]", "parent": "1 map[4:1]", "c1": "4 map[]"}), "the last part of the name counts")
	require.Empty(t, both.count(1)[0].GetEnrichedActions(), "the first message comes though nothing passes")

	r.move("c1", succeeded)
	phase.until(sees(t, map[string]string{"a0": "1 map[1:1 4:1 5:1]", "c2": "4 map[]"}), "parent and c1 left")
	both.until(sees(t, map[string]string{"a0": "1 map[1:1 4:1 5:1]", "parent": "1 map[5:1]", "c1": "5 map[]"}), "c1 with its ancestors")
	var left []string
	for _, response := range phase.all() {
		for _, enriched := range response.GetEnrichedActions() {
			if !enriched.GetMeetsFilter() {
				left = append(left, enriched.GetAction().GetId().GetName())
			}
		}
	}
	require.ElementsMatch(t, []string{"parent", "c1"}, left, "leaving is sent once")
}

// Rows are listed by the time of creation, which for traces is that of the client: a child may be read before its parent.
func TestActionsChildListedBeforeItsParent(t *testing.T) {
	f := newFixture(t, withConfig(func(c *watch.Config) { c.Page = 1 }))
	r := f.run("p", "development", "r1")
	r.child("x")
	r.apply(change{
		name: "early", parent: "x", kind: workflow.ActionType_ACTION_TYPE_TRACE, phase: succeeded, created: f.clock.Now().Add(-time.Hour),
	})
	s := f.actions(r.Run)
	s.until(sees(t, map[string]string{"a0": "1 map[1:1 5:1]", "x": "1 map[5:1]", "early": "5 map[]"}), "all three")
}

func TestActionsEndSomeTimeAfterTheRun(t *testing.T) {
	fake := clock.NewFake(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	f := newFixture(t, withClock(fake), withConfig(func(c *watch.Config) { c.MaxAge = 24 * time.Hour }))
	r := f.run("p", "development", "r1")
	s := f.actions(r.Run)
	// Timers start after a message has been received, which may take a moment: the clock steps until they have expired.
	stepUntil := func(by time.Duration, met func() bool, what string) {
		t.Helper()
		require.Eventually(t, func() bool {
			fake.Step(by)
			return met()
		}, wait, tick, what)
	}
	shows := func(want map[string]string) func() bool {
		return func() bool { return sees(t, want)(s.all()) }
	}
	stepUntil(f.config.Window, shows(map[string]string{"a0": "1 map[]"}), "the run")
	for range 10 { // the heartbeats show that the stream has seen the time pass
		sent := len(s.all())
		stepUntil(f.config.Linger, func() bool { return len(s.all()) > sent }, "a heartbeat")
	}
	r.move("a0", failed)
	stepUntil(f.config.Window, shows(map[string]string{"a0": "6 map[]"}), "the end of the run")
	r.apply(change{name: "late", parent: "a0", phase: aborted})
	stepUntil(f.config.Window, shows(map[string]string{"a0": "6 map[7:1]", "late": "7 map[]"}), "what changes after it")
	stepUntil(f.config.Linger, s.ended, "the end")
	require.NoError(t, s.end())

	s = f.actions(r.Run)
	stepUntil(f.config.Linger, s.ended, "that of an ended run too")
	require.NoError(t, s.end())
}

// fill adds n finished children to the root in one statement.
func (r *run) fill(n int) {
	r.f.inTx(func(tx pgx.Tx) {
		r.f.execTx(tx, `INSERT INTO actions (id, run_id, project, domain, run_name, name, parent_name, action_type, phase, last_seq, created_at, updated_at)
			SELECT nextval('actions_id_seq'), $1, $2, $3, $4, 'c' || i, 'a0', 1, 1, 1 + i, now() + i * interval '1 ms', now()
			FROM generate_series(1, $5) i`, r.id, r.Project, r.Domain, r.Name, n)
		r.f.execTx(tx, `INSERT INTO action_events (run_id, seq, action_id, attempt, phase, version, recorded_at)
			SELECT run_id, last_seq, id, 1, 1, 0, now() FROM actions WHERE run_id = $1 AND parent_name IS NOT NULL`, r.id)
		r.f.execTx(tx, `UPDATE actions SET last_seq = 1 + $2 WHERE id = $1`, r.id, n)
	})
}

// Story R9: the page of a run with 10,000 children stopped at 5,999 of them, and its stream ended as soon as the root had.
func TestActionsWideFanOutIsLinear(t *testing.T) {
	f := newFixture(t, withConfig(func(c *watch.Config) { c.Window = 250 * time.Millisecond }))
	r := f.run("p", "development", "r1")
	const n = 12_000
	r.fill(n)
	s := f.actions(r.Run)
	s.until(func(all []*workflow.WatchActionsResponse) bool {
		return console(t, all)["a0"] == fmt.Sprintf("1 map[1:%d]", n)
	}, "the right sum")
	sent := 0
	for _, response := range s.all() {
		sent += len(response.GetEnrichedActions())
	}
	require.Equal(t, n+2, sent, "each action once, and the root again with its sum")

	messages := len(s.all())
	for i := range 300 {
		r.move(fmt.Sprintf("c%d", i+1), succeeded)
	}
	all := s.until(func(all []*workflow.WatchActionsResponse) bool {
		return console(t, all[messages-1:])["a0"] == fmt.Sprintf("1 map[1:%d 5:%d]", n-300, 300)
	}, "the new sum")
	roots := 0
	for _, response := range all[messages:] {
		for _, enriched := range response.GetEnrichedActions() {
			if enriched.GetAction().GetId().GetName() == "a0" {
				roots++
			}
		}
	}
	require.Less(t, roots, 150, "the root is not sent for each child")
}

// Story R15: watches silently dropped what did not fit into a buffer.
func TestActionsSlowClientIsResynchronised(t *testing.T) {
	f := newFixture(t, withConfig(func(c *watch.Config) { c.Ring, c.Page, c.Window = 5, 10, time.Millisecond }))
	r := f.run("p", "development", "r1")
	s := f.actions(r.Run)
	s.count(1)
	release := s.hold()
	const n = 60
	for i := range n {
		name := fmt.Sprintf("c%d", i)
		r.child(name)
		r.move(name, succeeded)
	}
	release()
	s.until(func(all []*workflow.WatchActionsResponse) bool {
		return console(t, all)["a0"] == fmt.Sprintf("1 map[5:%d]", n) && len(console(t, all)) == n+1
	}, "everything")
	ended := map[string]bool{}
	for _, response := range s.all() {
		for _, enriched := range response.GetEnrichedActions() {
			name := enriched.GetAction().GetId().GetName()
			end := isEnd(enriched.GetAction().GetStatus().GetPhase())
			require.False(t, ended[name] && !end, "%s goes back", name)
			ended[name] = end
		}
	}
}

func TestActionsHeartbeat(t *testing.T) {
	fake := clock.NewFake(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	f := newFixture(t, withClock(fake))
	r := f.run("p", "development", "r1")
	s := f.actions(r.Run)
	s.count(1)
	timers := func(n int) {
		t.Helper()
		require.Eventually(t, func() bool { return fake.Timers() == n }, wait, tick)
	}
	timers(4) // the poll, the age, the heartbeat, the window
	fake.Step(f.config.Window)
	timers(4) // the end of the window leaves the timer of the linger
	fake.Step(f.config.Heartbeat)
	require.Empty(t, s.count(2)[1].GetEnrichedActions())
}

// skewed is a clock whose time of day can be set without its timers noticing, as on a machine.
type skewed struct {
	*clock.Fake
	by atomic.Int64
}

func (s *skewed) Now() time.Time { return s.Fake.Now().Add(time.Duration(s.by.Load())) }

func TestHeartbeatsContinueWhenTheClockIsSet(t *testing.T) {
	fake := clock.NewFake(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	skew := &skewed{Fake: fake}
	f := newFixture(t, withClock(skew))
	r := f.run("p", "development", "r1")
	s := f.actions(r.Run)
	s.count(1)
	for _, by := range []time.Duration{-5 * time.Hour, 0, 5 * time.Hour} {
		skew.by.Store(int64(by))
		// A step that comes before the stream has noted when it last sent something counts from there.
		for before := len(s.all()); len(s.all()) == before; {
			require.Eventually(t, func() bool { return fake.Timers() == 4 || len(s.all()) > before }, wait, tick,
				"the poll, the age, the heartbeat, the window or the linger")
			fake.Step(f.config.Heartbeat)
		}
	}
}

// An ancestor's row that is read for its sums may be newer than a change of it that has yet to be read.
func TestActionsDoNotGoBack(t *testing.T) {
	f := newFixture(t)
	r := f.run("p", "development", "r1")
	r.child("x")
	r.apply(change{name: "c", parent: "x", phase: queued})
	parent := f.children(r.Root())
	parent.count(2)
	s := f.actions(r.Run)
	s.count(1)
	hold := make(chan struct{})
	before := func() {
		r.move("x", running)
		parent.until(endsWith("x:4"), "the feed has the change")
		f.reader.hold.Store(&hold)
		r.move("x", succeeded)
	}
	f.reader.beforeRows.Store(&before)
	r.move("c", succeeded)
	s.until(func(all []*workflow.WatchActionsResponse) bool { return strings.HasPrefix(console(t, all)["x"], "5") }, "the newer row")
	require.Never(t, func() bool { return !strings.HasPrefix(console(t, s.all())["x"], "5") }, 100*time.Millisecond, 5*time.Millisecond)
	f.reader.hold.Store(nil)
	close(hold)
	r.child("last")
	s.until(func(all []*workflow.WatchActionsResponse) bool { return console(t, all)["last"] != "" }, "what comes after")
	s.until(sees(t, map[string]string{"a0": "1 map[1:1 5:2]", "x": "5 map[5:1]", "c": "5 map[]", "last": "1 map[]"}), "the right sums")
	ended := false
	for _, response := range s.all() {
		for _, enriched := range response.GetEnrichedActions() {
			if enriched.GetAction().GetId().GetName() == "x" {
				end := isEnd(enriched.GetAction().GetStatus().GetPhase())
				require.False(t, ended && !end, "x goes back")
				ended = ended || end
			}
		}
	}
}

func TestActionsGatherChanges(t *testing.T) {
	fake := clock.NewFake(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	f := newFixture(t, withClock(fake))
	r := f.run("p", "development", "r1")
	s := f.actions(r.Run)
	s.count(1)
	require.Eventually(t, func() bool { return fake.Timers() == 4 }, wait, tick, "the poll, the age, the heartbeat, the window")
	fake.Step(f.config.Window)
	r.child("c0")
	s.count(2) // at once
	for i := range 20 {
		r.child(fmt.Sprintf("d%d", i))
	}
	require.Never(t, func() bool { return len(s.all()) > 2 }, 50*time.Millisecond, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		fake.Step(f.config.Window) // the window begins after the message has been received, which may take a moment
		return len(s.all()) > 2
	}, wait, tick)
	require.Len(t, s.count(3)[2].GetEnrichedActions(), 21, "the children, and the root once")
}

func TestTreeFilterRejectsUnknownFields(t *testing.T) {
	for name, c := range map[string]struct {
		filter *common.Filter
		text   string
	}{
		"field":         {&common.Filter{Field: "OWNER"}, "filter[0].field"},
		"function":      {&common.Filter{Field: "PHASE", Function: common.Filter_GREATER_THAN, Values: []string{"1"}}, "filter[0].function"},
		"name function": {&common.Filter{Field: "NAME", Function: common.Filter_EQUAL, Values: []string{"x"}}, "filter[0].function"},
		"no phase":      {byPhase(), "filter[0].values"},
		"odd phase":     {&common.Filter{Field: "PHASE", Function: common.Filter_VALUE_IN, Values: []string{"11"}}, "filter[0].values"},
		"odd name":      {&common.Filter{Field: "PHASE", Function: common.Filter_VALUE_IN, Values: []string{"DONE"}}, "filter[0].values"},
		"two names":     {&common.Filter{Field: "NAME", Function: common.Filter_CONTAINS_CASE_INSENSITIVE, Values: []string{"a", "b"}}, "filter[0].values"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := watch.ParseTreeFilter([]*common.Filter{c.filter})
			require.Equal(t, rpc.KindInvalidArgument, rpc.KindOf(err))
			require.True(t, strings.HasPrefix(err.Error(), c.text), err.Error())
		})
	}
	_, err := watch.ParseTreeFilter([]*common.Filter{{Field: "phase", Function: common.Filter_VALUE_IN, Values: []string{"running", "ACTION_PHASE_FAILED", "5"}}})
	require.NoError(t, err)
}

func BenchmarkActionsSnapshot(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			f := newFixture(b)
			r := f.run("p", "development", "r1")
			r.fill(n)
			filter, err := watch.ParseTreeFilter(nil)
			require.NoError(b, err)
			var first time.Duration
			for b.Loop() {
				began := time.Now()
				ctx, cancel := context.WithCancel(b.Context())
				sent, one := 0, false
				_ = f.streams.Actions(ctx, r.Run, filter, func(m *workflow.WatchActionsResponse) error {
					if !one {
						one = true
						first += time.Since(began)
					}
					if sent += len(m.GetEnrichedActions()); sent >= n+1 {
						cancel()
					}
					return nil
				})
				cancel()
			}
			b.ReportMetric(float64(first.Microseconds())/float64(b.N)/1000, "ms/first")
		})
	}
}
