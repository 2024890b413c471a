package runs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/queues"
)

func withQueues(list ...queues.Queue) func(*runs.Config) {
	return func(config *runs.Config) { config.Queues = list }
}

func queuedRun(name, queue string) *workflow.CreateRunRequest {
	request := namedRun(name)
	request.RunSpec = &task.RunSpec{Queue: queue}
	return request
}

func (c *writeFixture) explain(run, action string) *insightv1.ExplainActionResponse {
	c.t.Helper()
	response, err := c.insight.ExplainAction(c.t.Context(), &insightv1.ExplainActionRequest{ActionId: actionID(run, action)})
	require.NoError(c.t, err)
	return response
}

func (c *writeFixture) refused(request *workflow.CreateRunRequest) error {
	c.t.Helper()
	_, err := c.runs.CreateRun(c.t.Context(), request)
	require.Error(c.t, err)
	return err
}

func TestUnknownQueuesAreRefusedByName(t *testing.T) {
	c := newWriteFixture(t, withQueues(queues.Queue{Name: "gpu"}, queues.Queue{Name: "mine", Projects: []string{"other", "flytesnacks/staging"}}))
	err := c.refused(queuedRun("r", "cpu"))
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err))
	require.ErrorContains(t, err, "run_spec.queue")
	require.ErrorContains(t, err, "default, gpu, mine")
	require.ErrorContains(t, c.refused(queuedRun("r", "mine")), "queue mine does not accept runs of project flytesnacks in domain development")
	c.create(queuedRun("r", "gpu"))
	for queue, want := range map[string]connect.Code{"cpu": connect.CodeInvalidArgument, "default": 0, "gpu": 0, "": 0, "mine": connect.CodeInvalidArgument} {
		request := childTask("r", "a0", "c-"+queue)
		request.GetTask().Queue = queue
		require.Equal(t, want, c.record(request), queue)
	}
	for action, queue := range map[string]string{"a0": "gpu", "c-default": "default", "c-": "gpu"} {
		require.Equal(t, queue, c.details("r", action).GetMetadata().GetTask().GetQueue(), action)
	}
	c.create(namedRun("without"))
	require.Nil(t, c.details("without", "a0").GetMetadata().GetTask().Queue, "it names none")
}

// TestWhyAnActionOfOnePersonWaits: people of a project take turns, so the older actions of others are not ahead.
func TestWhyAnActionOfOnePersonWaits(t *testing.T) {
	c := newWriteFixture(t, func(config *runs.Config) {
		config.Queues = []queues.Queue{{Name: "narrow", MaxActions: 1}}
		config.Admission.Poll = 20 * time.Millisecond
	})
	of := func(person string, names ...string) {
		ctx := authz.WithIdentity(t.Context(), authz.Identity{Kind: authz.User, Subject: person})
		for _, name := range names {
			_, err := c.runs.CreateRun(ctx, queuedRun(name, "narrow"))
			require.NoError(t, err)
		}
	}
	of("ada", "first")
	c.eventuallyLive("first/a0")
	of("ada", "second", "third")
	of("bob", "other")

	w := c.explain("third", "a0").GetWait()
	require.EqualValues(t, 1, w.GetAhead())
	require.Equal(t, "queue narrow is at its limit (1 of 1 in use); one action is ahead of it in queue narrow; "+
		"one action of one other caller in project flytesnacks takes turns with it", w.GetMessage())
	w = c.explain("other", "a0").GetWait()
	require.Zero(t, w.GetAhead(), "none of ada's older actions is")
	require.Equal(t, "queue narrow is at its limit (1 of 1 in use); "+
		"2 actions of one other caller in project flytesnacks take turns with it", w.GetMessage())
}

func TestQueuesAreLabelsWhenNoneIsConfigured(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(queuedRun("r", "somewhere-else"))
	require.Equal(t, []string{"r/a0"}, c.live())
	require.ErrorContains(t, c.refused(queuedRun("s", strings.Repeat("x", 256))), "run_spec.queue")
}

func TestPriorityLabel(t *testing.T) {
	c := newWriteFixture(t, nil)
	labelled := func(name, value string) *workflow.CreateRunRequest {
		request := namedRun(name)
		request.RunSpec = &task.RunSpec{Labels: &task.Labels{Values: map[string]string{"flyte.org/priority": value}}}
		return request
	}
	for _, wrong := range []string{"", "high", "101", "-101", "1.5"} {
		require.ErrorContains(t, c.refused(labelled("r", wrong)), "flyte.org/priority")
	}
	c.create(labelled("r", "-7"))
	c.child("r", "a0", "c")
	var n int
	require.NoError(t, c.pool.QueryRow(t.Context(), `SELECT count(*) FROM actions WHERE priority = -7`).Scan(&n))
	require.Equal(t, 2, n)
}

func TestWhyAnActionWaits(t *testing.T) {
	c := newWriteFixture(t, func(config *runs.Config) {
		config.Queues = []queues.Queue{{Name: "actions", MaxActions: 1}, {Name: "runs", MaxRuns: 1}, {Name: "short", MaxActions: 1, MaxDepth: 1}}
		config.Admission.MaxLive, config.Admission.Poll = 6, 20*time.Millisecond
	})
	c.create(queuedRun("q1", "actions"))
	c.eventuallyLive("q1/a0")
	c.create(queuedRun("q2", "actions"))
	c.create(queuedRun("q3", "actions"))
	w := c.explain("q3", "a0").GetWait()
	require.Equal(t, insightv1.WaitCause_WAIT_CAUSE_QUEUE_ACTIONS, w.GetCause())
	require.Equal(t, []int64{1, 1, 1}, []int64{w.GetLimit(), w.GetUsed(), w.GetAhead()})
	require.Equal(t, "actions", w.GetQueue())
	require.Equal(t, "queue actions is at its limit (1 of 1 in use); one action is ahead of it in queue actions", w.GetMessage())
	events := c.details("q3", "a0").GetAttempts()[0].GetClusterEvents()
	require.Len(t, events, 1)
	require.Equal(t, "waits: "+w.GetMessage(), events[0].GetMessage())
	require.Equal(t, w.GetSince().AsTime(), events[0].GetOccurredAt().AsTime())

	c.create(queuedRun("n1", "runs"))
	c.eventuallyLive("q1/a0", "n1/a0")
	c.create(queuedRun("n2", "runs"))
	w = c.explain("n2", "a0").GetWait()
	require.Equal(t, insightv1.WaitCause_WAIT_CAUSE_QUEUE_RUNS, w.GetCause())
	require.Equal(t, "queue runs is at its limit of concurrent runs (1 of 1 in use)", w.GetMessage())

	c.create(limitedRun("r", 2))
	c.eventuallyLive("q1/a0", "n1/a0", "r/a0")
	for i := range 4 {
		c.child("r", "a0", fmt.Sprint("c", i))
	}
	c.eventuallyLive("q1/a0", "n1/a0", "r/a0", "r/c0", "r/c1")
	w = c.explain("r", "c3").GetWait()
	require.Equal(t, insightv1.WaitCause_WAIT_CAUSE_RUN_CONCURRENCY, w.GetCause())
	require.Equal(t, []int64{2, 2, 1}, []int64{w.GetLimit(), w.GetUsed(), w.GetAhead()})
	require.Equal(t, insightv1.WaitCause_WAIT_CAUSE_CLUSTER, c.explain("r", "c0").GetWait().GetCause())
	c.report(transition("r", "c0", 1, 4))
	require.Nil(t, c.explain("r", "c0").GetWait(), "it runs")
	require.Empty(t, c.details("r", "c0").GetAttempts()[0].GetClusterEvents())
	c.report(transition("r", "c0", 1, failed), transition("r", "c0", 2, queued))
	w = c.explain("r", "c0").GetWait()
	require.Equal(t, insightv1.WaitCause_WAIT_CAUSE_BACKOFF, w.GetCause(), w.GetMessage())

	for i := range 3 {
		c.create(namedRun(fmt.Sprint("free", i)))
	}
	c.eventuallyLive("q1/a0", "n1/a0", "r/a0", "r/c0", "r/c1", "free0/a0", "free1/a0")
	w = c.explain("free2", "a0").GetWait()
	require.Equal(t, insightv1.WaitCause_WAIT_CAUSE_INSTALLATION, w.GetCause(), w.GetMessage())
	require.Equal(t, []int64{6, 6}, []int64{w.GetLimit(), w.GetUsed()})

	list, err := c.insight.ListQueues(t.Context(), &insightv1.ListQueuesRequest{})
	require.NoError(t, err)
	require.Len(t, list.GetQueues(), 4)
	require.Equal(t, "actions", list.GetQueues()[0].GetName())
	require.EqualValues(t, 2, list.GetQueues()[0].GetDepth())
	require.EqualValues(t, 1, list.GetQueues()[0].GetActions())
	require.Equal(t, "default", list.GetQueues()[1].GetName())
	require.EqualValues(t, 3, list.GetQueues()[1].GetDepth(), "c2, c3 and free2")
	require.NotNil(t, list.GetQueues()[1].GetOldestWaiting())
	require.EqualValues(t, 1, list.GetQueues()[2].GetRuns())

	c.create(queuedRun("s", "short"))
	err = c.refused(queuedRun("t", "short"))
	require.Equal(t, connect.CodeResourceExhausted, connect.CodeOf(err))
	require.ErrorContains(t, err, "queue short is full: 1 actions are waiting and its limit is 1")
	_, err = c.insight.ExplainAction(t.Context(), &insightv1.ExplainActionRequest{ActionId: actionID("none", "a0")})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
}

func TestWhyAConditionWaits(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r"))
	require.Zero(t, c.record(condition("r", "ask", core.SimpleType_BOOLEAN)))
	w := c.explain("r", "ask").GetWait()
	require.Equal(t, insightv1.WaitCause_WAIT_CAUSE_SIGNAL, w.GetCause())
	require.Contains(t, w.GetMessage(), "waits for a signal")
	require.Nil(t, c.explain("r", "a0").GetCache())
}

func TestWhyAHeldActionWaits(t *testing.T) {
	c := newWriteFixture(t, func(config *runs.Config) { config.Cache.Poll, config.Cache.ReservationPoll = time.Hour, time.Hour })
	c.create(namedRun("owner"))
	c.create(namedRun("r"))
	c.child("r", "a0", "c")
	set := func(hold int, reason string) {
		_, err := c.pool.Exec(t.Context(), `UPDATE actions SET admitted_at = NULL, hold = $1, cache_key = 'k', cache_reason = $2 WHERE name = 'c'`, hold, reason)
		require.NoError(t, err)
	}
	set(1, "")
	require.Equal(t, insightv1.WaitCause_WAIT_CAUSE_PENDING, c.explain("r", "c").GetWait().GetCause())
	set(2, "waits for action flytesnacks/development/owner/a0, which computes the same key")
	answer := c.explain("r", "c")
	require.Equal(t, insightv1.WaitCause_WAIT_CAUSE_CACHE_RESERVATION, answer.GetWait().GetCause())
	require.Equal(t, answer.GetCache().GetReason(), answer.GetWait().GetMessage())
	require.Equal(t, "k", answer.GetCache().GetKey())
	require.Nil(t, answer.GetWait().GetBehind())
	require.Eventually(t, func() bool { // the cache link drops a reservation that it did not make, if it looks just then
		_, err := c.pool.Exec(t.Context(), `INSERT INTO reserved_keys SELECT id, run_id, '', '', 'k', 'x' FROM actions WHERE run_name = 'owner' ON CONFLICT DO NOTHING`)
		require.NoError(t, err)
		return c.explain("r", "c").GetWait().GetBehind().GetRun().GetName() == "owner"
	}, 10*time.Second, 10*time.Millisecond)
}

// Runs and queues keep to their limits across restarts.
func TestLimitsOutliveARestart(t *testing.T) {
	c := newWriteFixture(t, withQueues(queues.Queue{Name: "two", MaxActions: 2}))
	c.create(limitedRun("r", 2))
	c.eventuallyLive("r/a0")
	for i := range 4 {
		c.child("r", "a0", fmt.Sprint("c", i))
	}
	for i := range 4 {
		c.create(queuedRun(fmt.Sprint("q", i), "two"))
	}
	c.eventuallyLive("r/a0", "r/c0", "r/c1", "q0/a0", "q1/a0")
	require.NoError(t, c.service.Stop(t.Context()))
	again := writeFixtureOn(t, c.pool, withQueues(queues.Queue{Name: "two", MaxActions: 3}))
	again.eventuallyLive("r/a0", "r/c0", "r/c1", "q0/a0", "q1/a0", "q2/a0")
	again.report(transition("r", "c0", 1, succeeded))
	again.eventuallyLive("r/a0", "r/c1", "r/c2", "q0/a0", "q1/a0", "q2/a0")
}

// Two replicas decide under one lease; neither exceeds a limit, and what one records the other admits.
//
// Story R11: queues and limits of concurrency were accepted and never enforced.
func TestTwoReplicasKeepTheLimits(t *testing.T) {
	limit := withQueues(queues.Queue{Name: "two", MaxActions: 2})
	a := newWriteFixture(t, limit)
	b := writeFixtureOn(t, a.pool, limit)
	for i := range 6 {
		[]*writeFixture{a, b}[i%2].create(queuedRun(fmt.Sprint("q", i), "two"))
	}
	for i := range 6 {
		want := []string{fmt.Sprintf("q%d/a0", i)}
		if i < 5 {
			want = append(want, fmt.Sprintf("q%d/a0", i+1))
		}
		a.eventuallyLive(want...)
		[]*writeFixture{b, a}[i%2].report(transition(fmt.Sprint("q", i), "a0", 1, succeeded))
	}
	a.eventuallyLive()
}
