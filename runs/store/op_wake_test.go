package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// timed is a writer with a clock that the test steps.
type timed struct {
	*writing
	clock *clock.Fake
	due   *worklists.DueReader
}

func newTimed(t *testing.T, change ...func(*store.WriterConfig)) *timed {
	t.Helper()
	config := store.DefaultWriterConfig()
	for _, f := range change {
		f(&config)
	}
	pool := pgtest.New(t, store.Migrations())
	clk := clock.NewFake(time.Now())
	w := &writing{t: t, pool: pool, live: &liveRecorder{}}
	w.Writer = store.NewWriter(config, store.WriterDeps{
		Pool: pool, Clock: clk, Live: w.live, Logger: zerolog.Nop(), Replica: "test",
	})
	w.Gate().Set(1_000_000, 0)
	require.NoError(t, w.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, w.Stop(context.WithoutCancel(t.Context()))) })
	return &timed{writing: w, clock: clk, due: worklists.NewDueReader(pool)}
}

// limited records a child of a0 with limits.
func (w *timed) limited(run, name string, limits schema.Limits, change ...func(*store.NewAction)) {
	w.t.Helper()
	action := newChild(run, "a0", name)
	action.Action.Limits = limits
	for _, f := range change {
		f(&action)
	}
	require.NoError(w.t, w.RecordAction(w.t.Context(), action))
}

func engineRun(a *store.NewAction) { a.Action.Runner = schema.RunnerBuiltin }

func condition(a *store.NewAction) { a.Action.ActionType = 3 }

// pass handles what is due now, without grace periods unless the test sets them.
func (w *timed) pass(start *store.Start, grace ...store.ExecutorGrace) int {
	w.t.Helper()
	now := w.clock.Now()
	due, err := w.due.Due(w.t.Context(), now, 100)
	require.NoError(w.t, err)
	starts, err := w.due.Starts(w.t.Context(), now, 100)
	require.NoError(w.t, err)
	var wakes []store.Wake
	for _, action := range append(due, starts...) {
		wake := store.Wake{Ref: action.Ref, Due: action.Due}
		if action.Due == schema.DueStart {
			wake.Start = start
		}
		wakes = append(wakes, wake)
	}
	n, err := w.Wake(w.t.Context(), wakes, append(grace, store.ExecutorGrace{})[0])
	require.NoError(w.t, err)
	return n
}

func (w *timed) failure(run, name string) *core.ExecutionError {
	w.t.Helper()
	failure := &core.ExecutionError{}
	require.NoError(w.t, proto.Unmarshal(w.row(run, name).Error, failure))
	return failure
}

func TestDeadlineOfQueuedActions(t *testing.T) {
	w := newTimed(t)
	w.create("r")
	w.Gate().Close()
	w.limited("r", "a", schema.Limits{Deadline: 5 * time.Second})
	w.clock.Step(5*time.Second - time.Microsecond)
	require.Zero(t, w.pass(nil))
	w.clock.Step(time.Microsecond)
	require.Equal(t, 1, w.pass(nil))
	row := w.row("r", "a")
	require.Equal(t, state.TimedOut, row.Phase)
	require.Equal(t, w.clock.Now(), row.EndedAt.UTC())
	require.Nil(t, row.WakeAt)
	require.Equal(t, "DEADLINE_EXCEEDED", w.failure("r", "a").GetCode())
	require.Contains(t, w.failure("r", "a").GetMessage(), "deadline of 5s over all attempts")
	require.Zero(t, w.pass(nil), "a terminal phase is final")
}

func TestQueuedTimeoutBeforeAdmission(t *testing.T) {
	w := newTimed(t)
	w.create("r")
	w.Gate().Close()
	w.limited("r", "a", schema.Limits{Queued: time.Second, Deadline: time.Minute})
	w.clock.Step(time.Second)
	require.Equal(t, 1, w.pass(nil))
	require.Equal(t, state.TimedOut, w.phase("r", "a"))
	require.Equal(t, "QUEUED_TIMEOUT_EXCEEDED", w.failure("r", "a").GetCode())
	require.Contains(t, w.failure("r", "a").GetMessage(), "queued timeout of 1s")
}

// TestExecutorActionsEndOnlyAfterTheirGrace: an action of an executor is ended only when the executor does not report.
func TestExecutorActionsEndOnlyAfterTheirGrace(t *testing.T) {
	w := newTimed(t)
	w.create("r")
	grace := store.ExecutorGrace{Grace: 2 * time.Second, Until: w.clock.Now().Add(10 * time.Second)}
	w.limited("r", "silent", schema.Limits{Queued: time.Second})
	w.limited("r", "started", schema.Limits{Queued: time.Second})
	w.limited("r", "late", schema.Limits{Deadline: time.Second})
	w.clock.Step(time.Second)
	require.Equal(t, 3, w.pass(nil, grace))
	require.Equal(t, state.Queued, w.phase("r", "silent"))
	require.Zero(t, w.pass(nil, grace))

	// The report of a start before the limit arrives within the grace period.
	w.report(to("r", "started", 1, state.Running))
	w.report(to("r", "late", 1, state.Succeeded))
	require.Nil(t, w.row("r", "started").WakeAt)
	w.clock.Step(9 * time.Second)
	require.Equal(t, 1, w.pass(nil, grace))
	require.Equal(t, state.TimedOut, w.phase("r", "silent"))
	require.Equal(t, state.Running, w.phase("r", "started"))
	require.Equal(t, state.Succeeded, w.phase("r", "late"))
	require.NotContains(t, w.live.names(), "r/silent", "its TaskAction is released")
}

func TestStartLeavesOnlyTheDeadline(t *testing.T) {
	w := newTimed(t)
	w.create("r")
	w.limited("r", "a", schema.Limits{Queued: time.Second, Deadline: time.Minute})
	row := w.row("r", "a")
	require.Equal(t, schema.DueQueued, row.Due)
	w.report(to("r", "a", 1, state.WaitingForResources))
	require.Equal(t, schema.DueQueued, w.row("r", "a").Due, "it keeps waiting")
	w.report(to("r", "a", 1, state.Initializing))
	row = w.row("r", "a")
	require.Equal(t, schema.DueDeadline, row.Due)
	require.Equal(t, row.CreatedAt.Add(time.Minute), *row.WakeAt)
}

// TestQueuedTimeoutIsPerAttempt: the timeout starts again for every attempt, at the end of the pause before it.
func TestQueuedTimeoutIsPerAttempt(t *testing.T) {
	w := newTimed(t)
	w.create("r")
	w.limited("r", "a", schema.Limits{Queued: 10 * time.Second, Deadline: time.Hour})
	w.report(to("r", "a", 1, state.Running))
	w.clock.Step(time.Minute)
	begins := w.clock.Now().Add(30 * time.Second)
	next := to("r", "a", 2, state.Queued)
	next.NotBefore = &begins
	w.report(to("r", "a", 1, state.Failed), next)
	require.Equal(t, begins.Add(10*time.Second), w.row("r", "a").WakeAt.UTC())
	w.clock.Step(35 * time.Second)
	w.report(to("r", "a", 2, state.WaitingForResources))
	require.Equal(t, begins.Add(10*time.Second), w.row("r", "a").WakeAt.UTC(), "waiting longer does not start it anew")
	w.clock.Step(5 * time.Second)
	require.Equal(t, 1, w.pass(nil))
	require.Equal(t, 1, w.pass(nil))
	require.Equal(t, state.TimedOut, w.phase("r", "a"))
	require.Equal(t, "QUEUED_TIMEOUT_EXCEEDED", w.failure("r", "a").GetCode())
}

func TestTimeoutAbortsTheSubtree(t *testing.T) {
	w := newTimed(t)
	w.create("r")
	w.limited("r", "a", schema.Limits{Deadline: time.Second})
	w.report(to("r", "a", 1, state.Running))
	w.child("r", "a", "b")
	w.child("r", "b", "c")
	w.report(to("r", "c", 1, state.Succeeded))
	w.clock.Step(time.Second)
	w.pass(nil)
	w.pass(nil)
	require.Equal(t, state.TimedOut, w.phase("r", "a"))
	require.Equal(t, state.Aborted, w.phase("r", "b"))
	require.Contains(t, w.row("r", "b").AbortReason, "parent action a ended: TIMED_OUT")
	require.Equal(t, state.Succeeded, w.phase("r", "c"))
	require.Equal(t, state.Queued, w.phase("r", "a0"))
}

func TestConditionTimesOut(t *testing.T) {
	w := newTimed(t)
	w.create("r")
	w.limited("r", "c", schema.Limits{Deadline: 3 * time.Second}, condition)
	w.limited("r", "for-ever", schema.Limits{}, condition)
	w.clock.Step(10 * time.Second) // an outage
	require.Equal(t, 1, w.pass(nil))
	row := w.row("r", "c")
	require.Equal(t, state.TimedOut, row.Phase)
	require.Equal(t, row.CreatedAt.Add(3*time.Second), *row.EndedAt, "it ended when its timeout expired")
	require.Equal(t, "ConditionTimedOut", w.failure("r", "c").GetCode())
	require.Contains(t, w.failure("r", "c").GetMessage(), "timeout of 3s")
	require.Equal(t, state.Paused, w.phase("r", "for-ever"))
	require.Equal(t, int64(1), w.number(`SELECT paused_count FROM actions WHERE run_name = 'r' AND name = 'a0'`))
}

func TestSignalBeatsTheTimeout(t *testing.T) {
	w := newTimed(t)
	w.create("r")
	w.limited("r", "c", schema.Limits{Deadline: time.Second}, condition)
	w.clock.Step(time.Second)
	due, err := w.due.Due(t.Context(), w.clock.Now(), 10)
	require.NoError(t, err)
	require.Len(t, due, 1)
	require.NoError(t, w.Signal(t.Context(), store.Signal{Action: actionID("r", "c"), Info: &workflow.SignalInfo{Output: &core.Literal{}}}))
	n, err := w.Wake(t.Context(), []store.Wake{{Ref: due[0].Ref, Due: due[0].Due}}, store.ExecutorGrace{})
	require.NoError(t, err)
	require.Zero(t, n)
	require.Equal(t, state.Succeeded, w.phase("r", "c"))
}

func TestBuiltinActionFromStartToEnd(t *testing.T) {
	w := newTimed(t)
	w.create("r")
	w.limited("r", "s", schema.Limits{}, engineRun)
	live := worklists.NewLiveReader(w.pool)
	everything := worklists.Selection{Runner: schema.RunnerExecutor, Cluster: ident.DefaultCluster, Shard: ident.AllShards}
	refs, err := live.Live(t.Context(), everything, schema.Ref{}, 10)
	require.NoError(t, err)
	require.Len(t, refs, 1, "only the root is for an executor")
	require.Equal(t, 1, w.pass(&store.Start{Lasts: 2 * time.Second}))
	row := w.row("r", "s")
	require.Equal(t, state.Running, row.Phase)
	require.Equal(t, w.clock.Now(), row.StartedAt.UTC())
	w.clock.Step(time.Second)
	require.Zero(t, w.pass(nil))
	w.clock.Step(time.Minute) // no pass for a while
	require.Equal(t, 1, w.pass(nil))
	ended := w.row("r", "s")
	require.Equal(t, state.Succeeded, ended.Phase)
	require.Equal(t, row.StartedAt.Add(2*time.Second), *ended.EndedAt, "the end is in the row, however late it is seen")
	var phases []int16
	require.NoError(t, w.pool.QueryRow(t.Context(), `SELECT array_agg(phase ORDER BY seq) FROM action_events WHERE action_id = $1 AND event IS NOT NULL`, ended.ID).Scan(&phases))
	require.Equal(t, []int16{state.Running, state.Succeeded}, phases)
}

func TestBuiltinActionCountsInItsQueue(t *testing.T) {
	w := newTimed(t)
	run := newRun(runID("r"))
	run.Root.MaxConcurrency = 2 // so that admission decides
	_, _, err := w.CreateRun(t.Context(), run)
	require.NoError(t, err)
	w.limited("r", "s", schema.Limits{}, engineRun)
	require.Zero(t, w.pass(&store.Start{}))
	row := w.row("r", "s")
	n, err := w.Admit(t.Context(), "", []store.Queued{{RunID: row.RunID, ID: row.ID}})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, 1, w.pass(&store.Start{Outputs: true}))
	row = w.row("r", "s")
	require.Equal(t, state.Succeeded, row.Phase, "one without duration ends as it starts")
	require.Equal(t, "/data/p/d/r/s/1", row.OutputURI)
	require.NotContains(t, w.live.names(), "r/s")
}

func TestBuiltinActionLimits(t *testing.T) {
	w := newTimed(t)
	w.create("r")
	w.limited("r", "long", schema.Limits{}, engineRun)
	w.limited("r", "bad", schema.Limits{}, engineRun)
	w.limited("r", "dead", schema.Limits{Deadline: 3 * time.Second}, engineRun)
	w.limited("r", "store", schema.Limits{Queued: 5 * time.Second}, engineRun)
	due, err := w.due.Starts(t.Context(), w.clock.Now(), 10)
	require.NoError(t, err)
	starts := map[string]*store.Start{
		"long":  {Lasts: time.Hour, Limit: 2 * time.Second},
		"bad":   {Failure: &core.ExecutionError{Code: "BadTaskInputs", Message: "odd", Kind: core.ExecutionError_USER}},
		"dead":  {Lasts: time.Hour},
		"store": {Postpone: time.Minute},
	}
	var wakes []store.Wake
	for _, action := range due {
		wakes = append(wakes, store.Wake{Ref: action.Ref, Due: action.Due, Start: starts[action.Name]})
	}
	n, err := w.Wake(t.Context(), wakes, store.ExecutorGrace{})
	require.NoError(t, err)
	require.Equal(t, 4, n)
	require.Equal(t, state.Failed, w.phase("r", "bad"))
	require.Equal(t, "odd", w.failure("r", "bad").GetMessage())
	w.clock.Step(10 * time.Second)
	require.Equal(t, 3, w.pass(nil))
	for name, code := range map[string]string{"long": "MAX_RUNTIME_EXCEEDED", "dead": "DEADLINE_EXCEEDED", "store": "QUEUED_TIMEOUT_EXCEEDED"} {
		require.Equal(t, state.TimedOut, w.phase("r", name), name)
		require.Equal(t, code, w.failure("r", name).GetCode())
	}
	require.Contains(t, w.failure("r", "long").GetMessage(), "timeout of 2s")
}

func TestClockSetBackOnlyDelaysTimeouts(t *testing.T) {
	w := newTimed(t)
	w.create("r")
	w.limited("r", "c", schema.Limits{Deadline: time.Second}, condition)
	w.clock.Step(2 * time.Second)
	due, err := w.due.Due(t.Context(), w.clock.Now(), 10)
	require.NoError(t, err)
	w.clock.Step(-time.Hour)
	n, err := w.Wake(t.Context(), []store.Wake{{Ref: due[0].Ref, Due: due[0].Due}}, store.ExecutorGrace{})
	require.NoError(t, err)
	require.Zero(t, n)
	w.clock.Step(time.Hour)
	require.Equal(t, 1, w.pass(nil))
}

// TestClockJumpsOfHours: a jump ahead ends what is due by the clock and nothing else. After a jump back, limits wait for
// their time, and what the engine does at once or after a short pause does not.
func TestClockJumpsOfHours(t *testing.T) {
	w := newTimed(t, inPortionsOf(4))
	w.create("r")
	w.create("tree")
	w.limited("r", "soon", schema.Limits{Deadline: time.Hour}, condition)
	w.limited("r", "later", schema.Limits{Deadline: 10 * time.Hour}, condition)
	w.limited("r", "sleeps", schema.Limits{}, engineRun)
	w.pass(&store.Start{Lasts: 7 * time.Hour})
	w.child("r", "a0", "unlimited")
	w.clock.Step(5 * time.Hour)
	w.passes()
	require.Equal(t, state.TimedOut, w.phase("r", "soon"))
	require.EqualValues(t, 5, w.unfinished(), "two roots, later, sleeps, unlimited")

	hooked := func(a *store.NewAction) { a.Webhook = true }
	w.limited("r", "asks", schema.Limits{}, condition, hooked)
	w.limited("r", "asks-again", schema.Limits{}, condition, hooked)
	webhooks := worklists.NewWebhooks(w.pool)
	require.NoError(t, webhooks.Postpone(t.Context(), w.row("r", "asks-again").ID, 1, w.clock.Now().Add(time.Minute)))
	pending := func(want ...string) {
		t.Helper()
		var names []string
		found, err := webhooks.Pending(t.Context(), w.clock.Now(), time.Minute, 10)
		require.NoError(t, err)
		for _, call := range found {
			names = append(names, call.Action.Name)
		}
		require.Equal(t, want, names)
	}
	pending("asks")
	w.limited("r", "starts", schema.Limits{}, engineRun)
	for i := range 9 {
		w.child("tree", "a0", fmt.Sprint("c", i))
	}
	require.NoError(t, w.Abort(t.Context(), store.Abort{Action: actionID("tree", "a0")}))

	w.clock.Step(-20 * time.Hour)
	for done := 1; done > 0; {
		done = w.pass(&store.Start{})
	}
	require.Equal(t, state.Succeeded, w.phase("r", "starts"))
	require.Zero(t, w.number(`SELECT count(*) FROM actions WHERE run_name = 'tree' AND ended_at IS NULL`))
	require.False(t, state.Terminal(w.phase("r", "sleeps")))
	pending("asks", "asks-again")
	w.clock.Step(30 * time.Hour)
	w.passes()
	require.Equal(t, state.TimedOut, w.phase("r", "later"))
	require.Equal(t, state.Succeeded, w.phase("r", "sleeps"))
	require.EqualValues(t, 4, w.unfinished(), "a root, unlimited, asks, asks-again")
}

func TestWebhookIsWrittenWithItsCondition(t *testing.T) {
	w := newTimed(t)
	w.create("r")
	hooked := func(a *store.NewAction) { a.Webhook = true }
	w.limited("r", "c", schema.Limits{}, condition, hooked)
	w.limited("r", "c", schema.Limits{}, condition, hooked)
	require.Equal(t, int64(1), w.number(`SELECT count(*) FROM webhooks`))
}
