package pools_test

import (
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/obs/metrictest"
	"github.com/flyte-binary/flyte-binary/pools"
)

func (f *fixture) wait(run, action string) *insightv1.Wait {
	f.t.Helper()
	answer, err := f.insight.ExplainAction(f.t.Context(), &insightv1.ExplainActionRequest{ActionId: actionID(run, action)})
	require.NoError(f.t, err)
	return answer.GetWait()
}

func (f *fixture) waitsFor(run, action string, cause insightv1.WaitCause) *insightv1.Wait {
	f.t.Helper()
	var w *insightv1.Wait
	f.eventually(action+" waits with "+cause.String(), func() bool {
		w = f.wait(run, action)
		return w.GetCause() == cause
	})
	return w
}

// TestAWaitIsExplained follows a pool from its first worker, which cannot start, to the last slot.
func TestAWaitIsExplained(t *testing.T) {
	f := newFixture(t, func(c *pools.Config) { c.SystemBackoff = 200 * time.Millisecond })
	f.run("r")
	f.child("r", "a0", "c1", reusable(policy(1, 1, 1)))
	require.Contains(t, f.waitsFor("r", "c1", insightv1.WaitCause_WAIT_CAUSE_WORKER_START).GetMessage(), "start")
	first := f.desiredReach(1)[0]
	report := func(id string, ended bool, reason string) {
		_, err := f.fleet.ReportWorkers(t.Context(), &enginev1.ReportWorkersRequest{Workers: []*enginev1.ObservedWorker{{Id: id, Ended: ended, Reason: reason}}})
		require.NoError(t, err)
	}
	report(first, false, "0/3 nodes are available")
	require.Equal(t, "no worker can start: 0/3 nodes are available", f.waitsFor("r", "c1", insightv1.WaitCause_WAIT_CAUSE_WORKER_PROBLEM).GetMessage())
	report(first, true, "no such image")
	require.Contains(t, f.waitsFor("r", "c1", insightv1.WaitCause_WAIT_CAUSE_WORKER_PROBLEM).GetMessage(), "no worker can start: no such image")
	var second string
	f.eventually("another worker is wanted", func() bool {
		ids := f.desired()
		if len(ids) == 1 {
			second = ids[0]
		}
		return second != "" && second != first
	})
	w := f.start(second)
	a := w.take()
	f.reaches("r", "c1", running)
	require.Nil(t, f.wait("r", "c1"))
	f.child("r", "a0", "c2", reusable(policy(1, 1, 1)))
	f.child("r", "a0", "c3", reusable(policy(1, 1, 1)))
	f.eventually("one goes before it", func() bool { return f.wait("r", "c3").GetAhead() == 1 })
	full := f.waitsFor("r", "c3", insightv1.WaitCause_WAIT_CAUSE_WORKER_SLOTS)
	require.EqualValues(t, 1, full.GetLimit())
	require.EqualValues(t, 1, full.GetUsed())
	require.Equal(t, "all slots are taken: 1 worker runs, the most that its environment may have, with 1 slot each; one action is ahead of it in its pool",
		full.GetMessage())
	events := f.details("r", "c3").GetAttempts()[0].GetClusterEvents()
	require.Equal(t, "waits: "+full.GetMessage(), events[len(events)-1].GetMessage(), "its details say so, too")
	w.succeed(a)
}

func TestPoolsAndWorkersAreListed(t *testing.T) {
	f := newFixture(t, nil)
	f.run("r")
	f.child("r", "a0", "c1", reusable(policy(1, 1, 1)))
	f.child("r", "a0", "c2", reusable(policy(1, 1, 1), retries(1)))
	f.child("r", "a0", "c3", reusable(policy(1, 1, 1)))
	own := func(t *core.TaskTemplate) { t.ReusePolicy.Scope = core.ReusePolicy_RUN }
	w := f.start(f.desiredReach(1)[0])
	w.succeed(w.take())
	second := w.next().GetAssignment()
	w.running[second.GetId().GetUid()] = &workerv1.Running{Id: second.GetId(), StartedAt: timestamppb.Now(), Warm: true, SlowStart: "it changes open files"}
	w.beat()
	f.reaches("r", "c2", running)
	events := f.details("r", "c2").GetAttempts()[0].GetClusterEvents()
	require.Equal(t, "the process had to load its code itself: it changes open files", events[len(events)-1].GetMessage())

	list := func(r *insightv1.ListPoolsRequest) *insightv1.ListPoolsResponse {
		answer, err := f.pools.ListPools(t.Context(), r)
		require.NoError(t, err)
		return answer
	}
	place := &common.ProjectIdentifier{Name: "flytesnacks", Domain: "development"}
	var p *insightv1.Pool
	f.eventually("the third waits", func() bool {
		all := list(&insightv1.ListPoolsRequest{ProjectId: place})
		require.Len(t, all.GetPools(), 1)
		p = all.GetPools()[0]
		return p.GetWaiting() > 0
	})
	require.Equal(t, "env v1 of flytesnacks/development", p.GetEnvironment()+" "+p.GetVersion()+" of "+p.GetProjectId().GetName()+"/"+p.GetProjectId().GetDomain())
	require.Equal(t, []uint32{1, 1, 1, 1, 1, 1}, []uint32{p.GetMinReplicas(), p.GetMaxReplicas(), p.GetConcurrency(), p.GetWorkers().GetLive(), p.GetRunning(), p.GetWaiting()})
	require.Equal(t, []int64{2, 1, 1, 0}, []int64{p.GetAttempts(), p.GetWarmHits(), p.GetStarts(), p.GetLosses()}, "the second began in a worker that was up")
	require.Empty(t, list(&insightv1.ListPoolsRequest{ProjectId: &common.ProjectIdentifier{Name: "another", Domain: "development"}}).GetPools())
	require.Empty(t, list(&insightv1.ListPoolsRequest{Environment: "another"}).GetPools())

	workersOf := func(place *common.ProjectIdentifier) (*insightv1.ListWorkersResponse, error) {
		return f.pools.ListWorkers(t.Context(), &insightv1.ListWorkersRequest{ProjectId: place, PoolId: p.GetId()})
	}
	answer, err := workersOf(place)
	require.NoError(t, err)
	require.Len(t, answer.GetWorkers(), 1)
	one := answer.GetWorkers()[0]
	require.Equal(t, w.id, one.GetId())
	require.Equal(t, insightv1.WorkerState_WORKER_STATE_LIVE, one.GetState())
	require.EqualValues(t, 2, one.GetGiven())
	require.Len(t, one.GetAttempts(), 1)
	require.Equal(t, "c2", one.GetAttempts()[0].GetActionId().GetName())
	require.True(t, one.GetAttempts()[0].GetWarm())
	require.Equal(t, "it changes open files", one.GetAttempts()[0].GetSlowStart())
	_, err = workersOf(&common.ProjectIdentifier{Name: "another", Domain: "development"})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err), "a pool is asked for where it is")

	f.child("r", "a0", "own", reusable(policy(0, 1, 1), own))
	f.eventually("a second pool", func() bool { return len(list(&insightv1.ListPoolsRequest{ProjectId: place}).GetPools()) == 2 })
	page := list(&insightv1.ListPoolsRequest{ProjectId: place, Limit: 1})
	require.Equal(t, "r", page.GetPools()[0].GetRun(), "the newest first")
	page = list(&insightv1.ListPoolsRequest{ProjectId: place, Limit: 1, Token: page.GetToken()})
	require.Equal(t, p.GetId(), page.GetPools()[0].GetId())
	require.Empty(t, page.GetToken())
	w.succeed(second)
	f.eventually("the slow start is counted", func() bool {
		first := list(&insightv1.ListPoolsRequest{ProjectId: place, Token: ""}).GetPools()[1]
		return first.GetSlowStarts() == 1 && first.GetSlowStart() == "it changes open files"
	})
	_, err = f.pools.ListPools(t.Context(), &insightv1.ListPoolsRequest{Token: "x"})
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err))
}

func TestMetrics(t *testing.T) {
	f := newFixture(t, func(c *pools.Config) { c.Lease = time.Second })
	f.run("r")
	f.child("r", "a0", "c1", reusable(policy(1, 1, 1)))
	f.child("r", "a0", "c2", reusable(policy(1, 1, 1)))
	w := f.start(f.desiredReach(1)[0])
	w.take()
	f.eventually("one waits", func() bool {
		figures := metrictest.Read(t, f.reader)
		return figures["flyte.workers.waiting"] == 1 && figures["flyte.workers.slots state=taken"] == 1 && figures["flyte.workers.attempts start=cold"] == 1
	})
	figures := metrictest.Read(t, f.reader)
	require.EqualValues(t, 1, figures["flyte.workers.pools"])
	require.EqualValues(t, 1, figures["flyte.workers.count state=live"])
	require.EqualValues(t, 0, figures["flyte.workers.slots state=free"])
	require.EqualValues(t, 1, figures["flyte.workers.assignment.latency"])
	w.cut()
	f.eventually("the worker is lost", func() bool { return metrictest.Read(t, f.reader)["flyte.workers.lost"] == 1 })
}
