package pools_test

import (
	"fmt"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/pools"
)

const (
	queued       = common.ActionPhase_ACTION_PHASE_QUEUED
	initializing = common.ActionPhase_ACTION_PHASE_INITIALIZING
	running      = common.ActionPhase_ACTION_PHASE_RUNNING
	succeeded    = common.ActionPhase_ACTION_PHASE_SUCCEEDED
	failed       = common.ActionPhase_ACTION_PHASE_FAILED
	timedOut     = common.ActionPhase_ACTION_PHASE_TIMED_OUT
)

func retries(n uint32) func(*core.TaskTemplate) {
	return func(t *core.TaskTemplate) { t.Metadata.Retries = &core.RetryStrategy{Retries: n} }
}

func TestAWorkerRunsTheActionsOfItsPool(t *testing.T) {
	f := newFixture(t, nil)
	f.run("r")
	for i := range 5 {
		f.child("r", "a0", fmt.Sprint("c", i), reusable(policy(1, 1, 1)))
	}
	w := f.start(f.desiredReach(1)[0])
	for i := range 5 {
		name := fmt.Sprint("c", i)
		a := w.take()
		require.Equal(t, name, a.GetAction().GetName(), "the oldest first")
		f.reaches("r", name, running)
		require.Equal(t, []string{"a0", "--inputs", f.blobs.Root() + "/flytesnacks/development/in/" + name + "/inputs.pb"}, a.GetArgs()[:3])
		require.Equal(t, name, a.GetEnv()["ACTION_NAME"])
		require.Equal(t, "r", a.GetEnv()["RUN_NAME"])
		w.succeed(a)
		f.reaches("r", name, succeeded)
		require.Equal(t, "worker-"+w.id, f.details("r", name).GetAttempts()[0].GetLogContext().GetPrimaryPodName(), "where its log is")
		require.Equal(t, f.dir(a), f.details("r", name).GetAttempts()[0].GetOutputs().GetOutputUri()[:len(f.dir(a))])
	}
	require.Zero(t, f.count(`SELECT count(*) FROM pool_actions`))
	require.Len(t, f.desired(), 1, "one worker ran all")
	require.Zero(t, f.count(`SELECT count(*) FROM pool_actions`))
}

func TestPhasesOfAnAttempt(t *testing.T) {
	f := newFixture(t, nil)
	f.run("r")
	f.child("r", "a0", "c", reusable())
	require.Equal(t, queued, f.phase("r", "c"))
	w := f.start(f.desiredReach(1)[0])
	a := w.next().GetAssignment()
	f.reaches("r", "c", initializing)
	w.running[a.GetId().GetUid()] = &workerv1.Running{Id: a.GetId()}
	w.beat()
	w.succeed(a)
	require.Equal(t, succeeded, f.phase("r", "c"))
}

func TestVerdictsAreThoseOfPods(t *testing.T) {
	f := newFixture(t, nil)
	f.run("r")
	for i, c := range []struct {
		name  string
		do    func(*workerv1.Assignment)
		end   workerv1.End
		code  int32
		phase common.ActionPhase
		error string
	}{
		{"error document", func(a *workerv1.Assignment) { f.raise(a, core.ContainerError_NON_RECOVERABLE) }, workerv1.End_END_EXITED, 0, failed, "no"},
		{"outputs after a crash", func(a *workerv1.Assignment) { f.outputs(a) }, workerv1.End_END_EXITED, 1, succeeded, ""},
		{"exit code", nil, workerv1.End_END_EXITED, 3, failed, "exit code 3"},
		{"segmentation fault", nil, workerv1.End_END_SIGNALED, 11, failed, "SIGSEGV"},
		{"memory", func(a *workerv1.Assignment) { f.outputs(a) }, workerv1.End_END_OUT_OF_MEMORY, 0, failed, "more memory"},
	} {
		name := fmt.Sprint("c", i)
		f.child("r", "a0", name, reusable(policy(1, 1, 1)))
		w := f.start(f.desiredReach(1)[0])
		a := w.take()
		if c.do != nil {
			c.do(a)
		}
		w.end(a, c.end, c.code)
		require.Equal(t, c.phase, f.phase("r", name), c.name)
		require.Contains(t, f.details("r", name).GetErrorInfo().GetMessage(), c.error, c.name)
		w.leave()
		f.eventually("the worker has ended", func() bool {
			return f.count(`SELECT count(*) FROM pool_workers WHERE id = $1 AND state = 4`, w.id) == 1
		})
	}
}

func TestRetriesAreTheTasksOwn(t *testing.T) {
	f := newFixture(t, nil)
	f.run("r")
	f.child("r", "a0", "c", reusable(retries(1)))
	w := f.start(f.desiredReach(1)[0])
	first := w.take()
	f.raise(first, core.ContainerError_RECOVERABLE)
	w.end(first, workerv1.End_END_EXITED, 1)
	second := w.take()
	require.EqualValues(t, 2, second.GetId().GetAttempt())
	require.Equal(t, "1", second.GetEnv()["FLYTE_ATTEMPT_NUMBER"])
	f.raise(second, core.ContainerError_RECOVERABLE)
	w.end(second, workerv1.End_END_EXITED, 1)
	require.Equal(t, failed, f.phase("r", "c"))
	require.Len(t, f.details("r", "c").GetAttempts(), 2)
}

// TestALostWorkerCostsNoRetry: and its attempt begins elsewhere only when its lease is over.
func TestALostWorkerCostsNoRetry(t *testing.T) {
	f := newFixture(t, func(c *pools.Config) { c.Lease = 2 * time.Second })
	f.run("r")
	f.child("r", "a0", "c", reusable(policy(1, 1, 1)))
	w := f.start(f.desiredReach(1)[0])
	w.take()
	var until time.Time
	require.NoError(t, f.db.QueryRow(t.Context(), `SELECT lease_until FROM pool_workers`).Scan(&until))
	w.cut()
	f.eventually("another worker is wanted", func() bool {
		ids := f.desired()
		return len(ids) == 1 && ids[0] != w.id
	})
	other := f.start(f.desired()[0])
	again := other.take()
	var now time.Time
	require.NoError(t, f.db.QueryRow(t.Context(), `SELECT clock_timestamp()`).Scan(&now))
	require.True(t, now.After(until), "%s is not after %s", now, until)
	require.EqualValues(t, 2, again.GetId().GetAttempt())
	other.succeed(again)
	require.Equal(t, succeeded, f.phase("r", "c"))
	require.Contains(t, f.details("r", "c").GetAttempts()[0].GetErrorInfo().GetMessage(), "worker "+w.id)

	w.connect()
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(<-w.failure), "it was given up")
}

// TestASessionGoesOn: the worker keeps what it has over a break of the stream, and over the end of the server.
func TestASessionGoesOn(t *testing.T) {
	f := newFixture(t, nil)
	f.run("r")
	f.child("r", "a0", "c1", reusable(policy(1, 1, 1)))
	f.child("r", "a0", "c2", reusable(policy(1, 1, 1)))
	w := f.start(f.desiredReach(1)[0])
	first := w.take()
	f.reaches("r", "c1", running)
	w.cut()
	f.stop()
	mux, _ := f.replica()
	f.connect(mux)
	f.outputs(first)
	delete(w.running, first.GetId().GetUid())
	w.ended[first.GetId().GetUid()] = &workerv1.Ended{Id: first.GetId(), End: workerv1.End_END_EXITED}
	w.connect()
	w.acknowledged(first)
	require.Equal(t, succeeded, f.phase("r", "c1"))
	w.succeed(w.take())
	require.Equal(t, succeeded, f.phase("r", "c2"))
}

// TestTheSameEndTwice: a worker repeats what was not acknowledged, also when it was recorded.
func TestTheSameEndTwice(t *testing.T) {
	f := newFixture(t, nil)
	f.run("r")
	f.child("r", "a0", "c", reusable(retries(3)))
	w := f.start(f.desiredReach(1)[0])
	a := w.take()
	f.raise(a, core.ContainerError_RECOVERABLE)
	w.finish(a, workerv1.End_END_EXITED, 1)
	w.acknowledged(a)
	w.ended[a.GetId().GetUid()] = &workerv1.Ended{Id: a.GetId(), End: workerv1.End_END_EXITED, Code: 1}
	second := w.next().GetAssignment()
	w.running[second.GetId().GetUid()] = &workerv1.Running{Id: second.GetId()}
	w.beat()
	w.acknowledged(a)
	w.succeed(second)
	require.Equal(t, succeeded, f.phase("r", "c"))
	require.Len(t, f.details("r", "c").GetAttempts(), 2)
}

func TestAnAbortStopsOneOfTwo(t *testing.T) {
	f := newFixture(t, nil)
	f.run("r")
	f.child("r", "a0", "c1", reusable(policy(1, 1, 2)))
	f.child("r", "a0", "c2", reusable(policy(1, 1, 2)))
	w := f.start(f.desiredReach(1)[0])
	w.slots = 2
	w.beat()
	taken := map[string]*workerv1.Assignment{}
	for range 2 {
		a := w.take()
		taken[a.GetAction().GetName()] = a
	}
	_, err := f.runs.AbortAction(t.Context(), &workflow.AbortActionRequest{ActionId: actionID("r", "c1"), Reason: "enough"})
	require.NoError(t, err)
	stop := w.next().GetStop()
	require.Equal(t, taken["c1"].GetId().GetUid(), stop.GetId().GetUid())
	require.Equal(t, f.config.Grace, stop.GetGrace().AsDuration())
	w.end(taken["c1"], workerv1.End_END_STOPPED, 0)
	w.succeed(taken["c2"])
	require.Equal(t, common.ActionPhase_ACTION_PHASE_ABORTED, f.phase("r", "c1"))
	require.Equal(t, succeeded, f.phase("r", "c2"))
	require.Zero(t, f.count(`SELECT count(*) FROM pool_actions`))
}

func TestAnAttemptThatRunsTooLongIsStopped(t *testing.T) {
	f := newFixture(t, nil)
	f.run("r")
	f.child("r", "a0", "c", reusable(func(t *core.TaskTemplate) { t.Metadata.Timeout = durationpb.New(50 * time.Millisecond) }))
	w := f.start(f.desiredReach(1)[0])
	a := w.take()
	require.Equal(t, 50*time.Millisecond, a.GetTimeout().AsDuration())
	require.Equal(t, a.GetId().GetUid(), w.next().GetStop().GetId().GetUid())
	f.outputs(a)
	w.end(a, workerv1.End_END_STOPPED, 0)
	require.Equal(t, timedOut, f.phase("r", "c"))
}

// anotherWanted waits until another worker is wanted, and returns its id.
func (f *fixture) anotherWanted(worker string) (other string) {
	f.t.Helper()
	f.eventually("a second worker is wanted", func() bool {
		for _, id := range f.desired() {
			if id != worker {
				other = id
			}
		}
		return other != ""
	})
	return other
}

// TestAParentDoesNotKeepItsChildrenOut: the only worker of the pool is busy with their parent.
func TestAParentDoesNotKeepItsChildrenOut(t *testing.T) {
	f := newFixture(t, nil)
	only := policy(0, 1, 1)
	f.runOf("r", reusable(only))
	w := f.start(f.desiredReach(1)[0])
	root := w.take()
	f.reaches("r", "a0", running)
	f.child("r", "a0", "c1", reusable(only))
	f.child("r", "a0", "c2", reusable(only))
	f.runOf("other", reusable(only)) // waits for its turn, and must not take the slot of a child
	helper := f.start(f.anotherWanted(w.id))
	for _, name := range []string{"c1", "c2"} {
		a := helper.take()
		require.Equal(t, name, a.GetAction().GetName())
		helper.succeed(a)
	}
	w.succeed(root)
	require.Equal(t, succeeded, f.phase("r", "a0"))
}

// TestAParentThatGetsItsSlotLateDoesNotKeepItsChildrenOut: when a cluster was lost, a parent and its children are offered again, and the
// children may be offered before the parent has a slot.
func TestAParentThatGetsItsSlotLateDoesNotKeepItsChildrenOut(t *testing.T) {
	f := newFixture(t, nil)
	only := policy(0, 1, 1)
	f.runOf("r", reusable(only))
	first := f.desiredReach(1)[0]
	f.child("r", "a0", "c", reusable(only))
	f.eventually("both wait", func() bool { return f.count(`SELECT count(*) FROM pool_actions WHERE NOT nested`) == 2 })
	w := f.start(first)
	root := w.take()
	require.Equal(t, "a0", root.GetAction().GetName())
	helper := f.start(f.anotherWanted(w.id))
	helper.succeed(helper.take())
	w.succeed(root)
	require.Equal(t, succeeded, f.phase("r", "a0"))
}

func TestAWorkerThatIsNotNeededIsDrained(t *testing.T) {
	f := newFixture(t, nil)
	f.run("r")
	f.child("r", "a0", "c", reusable(policy(1, 1, 1)))
	w := f.start(f.desiredReach(1)[0])
	w.succeed(w.take())
	// The pool has had no work for longer than its policy wants.
	_, err := f.db.Exec(t.Context(), `UPDATE worker_pools SET worked_at = clock_timestamp() - interval '1 hour'`)
	require.NoError(t, err)
	_, err = f.db.Exec(t.Context(), `SELECT pg_notify('flyte_workers', 'k1')`)
	require.NoError(t, err)
	require.NotNil(t, w.next().GetDrain())
	w.leave()
	f.eventually("no worker is wanted", func() bool { return len(f.desired()) == 0 })
}

// TestWorkersThatDoNotStartAreReplaced slowly, and the pool says why.
func TestWorkersThatDoNotStartAreReplaced(t *testing.T) {
	f := newFixture(t, nil)
	f.run("r")
	f.child("r", "a0", "c", reusable(policy(1, 1, 1)))
	first := f.desiredReach(1)[0]
	_, err := f.fleet.ReportWorkers(t.Context(), &enginev1.ReportWorkersRequest{Workers: []*enginev1.ObservedWorker{{Id: first, Ended: true, Reason: "no such image"}}})
	require.NoError(t, err)
	require.Equal(t, 1, f.count(`SELECT failures FROM worker_pools WHERE problem = 'no such image'`))
	f.eventually("another worker is wanted", func() bool {
		ids := f.desired()
		return len(ids) == 1 && ids[0] != first
	})
	w := f.start(f.desired()[0])
	w.succeed(w.take())
	require.Zero(t, f.count(`SELECT failures FROM worker_pools WHERE problem = ''`))
}

func TestAWorkerNeedsItsOwnToken(t *testing.T) {
	f := newFixture(t, nil)
	f.run("r")
	f.child("r", "a0", "c", reusable(policy(1, 1, 1)))
	id := f.desiredReach(1)[0]
	for token, code := range map[string]connect.Code{"": connect.CodeUnauthenticated, "guessed": connect.CodeNotFound} {
		w := &fake{f: f, id: id, token: token, incarnation: "i", slots: 1}
		w.connect()
		require.Equal(t, code, connect.CodeOf(<-w.failure))
	}
	w := f.start(id)
	a := w.take()
	second := &fake{f: f, id: id, token: w.token, incarnation: "another process", slots: 1}
	second.connect()
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(<-second.failure), "one process is the worker")
	other := &fake{f: f, id: "another-worker", token: w.token, incarnation: "i", slots: 1}
	other.connect()
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(<-other.failure), "a token is that of one worker")

	ctx, call := connect.NewClientContext(t.Context())
	call.RequestHeader().Set("Authorization", "Bearer "+w.token)
	_, err := insightv1connect.NewPoolInsightServiceClient(f.outside, rpc.InProcessURL).ListPools(ctx, &insightv1.ListPoolsRequest{})
	require.Equal(t, connect.CodePermissionDenied, connect.CodeOf(err), "a worker's token is for work alone: %v", err)
	w.succeed(a)
}
