package pools_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/clusters/states"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/pools"
)

// clusters are what the registry knows. Those of a test are east, where work begins, and west.
type clusters struct {
	mu    sync.Mutex
	state map[string]states.State // GUARDED_BY(mu)
}

// States implements states.Source.
func (c *clusters) States(_ context.Context, now time.Time) ([]states.State, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []states.State
	for _, name := range slices.Sorted(maps.Keys(c.state)) {
		state := c.state[name]
		state.Name, state.Weight = name, 1
		if state.SeenAt.IsZero() {
			state.SeenAt = now
		}
		all = append(all, state)
	}
	return all, nil
}

func (c *clusters) set(name string, state states.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state[name] = state
}

// onTwo is a fixture of which east runs all work, and of whose pools each has one worker.
func onTwo(t *testing.T) (*fixture, *clusters) {
	t.Helper()
	both := &clusters{state: map[string]states.State{"east": {State: states.Ready}, "west": {State: states.Cordoned}}}
	f := newFixtureOn(t, both, func(c *pools.Config) { c.Poll = 100 * time.Millisecond })
	f.run("r")
	return f, both
}

// workerOn starts the only worker that a cluster should run.
func (f *fixture) workerOn(cluster string) *fake {
	f.t.Helper()
	var ids []string
	f.soon("a worker is wanted in "+cluster, func() bool {
		ids = f.desiredOn(cluster)
		return len(ids) == 1
	})
	return f.start(ids[0])
}

// soon waits for what several loops do.
func (f *fixture) soon(what string, is func() bool) {
	f.t.Helper()
	require.Eventually(f.t, is, time.Minute, 20*time.Millisecond, what)
}

// within is the next message other than a lease of a worker, for which several loops may work.
func (w *fake) within() *workerv1.WorkResponse {
	w.f.t.Helper()
	limit := time.After(time.Minute)
	for {
		select {
		case m := <-w.messages:
			if m.GetLease() == nil {
				return m
			}
		case err := <-w.failure:
			w.f.t.Fatalf("the session of %s ended: %v", w.id, err)
		case <-limit:
			w.f.t.Fatalf("worker %s hears nothing", w.id)
		}
	}
}

func errorsOf(f *fixture, action string) (codes []string) {
	for _, one := range f.details("r", action).GetAttempts() {
		codes = append(codes, one.GetErrorInfo().GetCode())
	}
	return codes
}

// TestWhatWaitsForAWorkerMovesFromAClusterThatIsCordoned: what runs there ends there, and no more workers start there.
func TestWhatWaitsForAWorkerMovesFromAClusterThatIsCordoned(t *testing.T) {
	f, both := onTwo(t)
	f.child("r", "a0", "runs", reusable(policy(0, 1, 1)))
	east := f.workerOn("east")
	begun := east.take()
	f.child("r", "a0", "waits", reusable(policy(0, 1, 1)))
	f.soon("it is in the pool", func() bool { return f.count(`SELECT count(*) FROM pool_actions`) == 2 })

	both.set("west", states.State{State: states.Ready})
	both.set("east", states.State{State: states.Cordoned})
	west := f.workerOn("west")
	moved := west.within().GetAssignment()
	require.Equal(t, "waits", moved.GetAction().GetName())
	require.EqualValues(t, 2, moved.GetId().GetAttempt())
	west.succeed(moved)
	east.succeed(begun)
	f.reaches("r", "runs", common.ActionPhase_ACTION_PHASE_SUCCEEDED)
	f.reaches("r", "waits", common.ActionPhase_ACTION_PHASE_SUCCEEDED)
	require.Equal(t, []string{""}, errorsOf(f, "runs"))
	require.Equal(t, []string{"ClusterDrained", ""}, errorsOf(f, "waits"))
}

// TestTheWorkersOfALostClusterAreFenced: their attempts run elsewhere once, and a worker that comes back with its old session or with a new
// one neither reports the old attempt nor claims another.
func TestTheWorkersOfALostClusterAreFenced(t *testing.T) {
	f, both := onTwo(t)
	f.child("r", "a0", "c", reusable(policy(0, 1, 1)))
	east := f.workerOn("east")
	old := east.take()
	f.reaches("r", "c", common.ActionPhase_ACTION_PHASE_RUNNING)

	both.set("west", states.State{State: states.Ready})
	both.set("east", states.State{State: states.Ready, SeenAt: time.Now().Add(-time.Hour)})
	west := f.workerOn("west")
	now := west.within().GetAssignment()
	require.EqualValues(t, 2, now.GetId().GetAttempt())
	stopped := east.within().GetStop()
	require.Equal(t, old.GetId().GetAttempt(), stopped.GetId().GetAttempt(), "the old session gets a stop for what it has")

	f.outputs(old)
	east.finish(old, workerv1.End_END_EXITED, 0)
	east.acknowledged(old)
	require.Equal(t, common.ActionPhase_ACTION_PHASE_QUEUED, f.phase("r", "c"), "the old attempt is not heard")
	east.cut()
	east.running[old.GetId().GetUid()] = &workerv1.Running{Id: old.GetId()}
	east.connect()
	require.Equal(t, old.GetId().GetAttempt(), east.within().GetStop().GetId().GetAttempt(), "a new session has nothing")
	require.Zero(t, f.count(`SELECT count(*) FROM pool_actions WHERE worker_id = $1`, east.id))

	west.running[now.GetId().GetUid()] = &workerv1.Running{Id: now.GetId()}
	west.beat()
	west.succeed(now)
	f.reaches("r", "c", common.ActionPhase_ACTION_PHASE_SUCCEEDED)
	require.Equal(t, []string{"ClusterLost", ""}, errorsOf(f, "c"))
}

// TestADrainedClusterEndsItsWorkers: those without work at once, the others when they have ended it.
func TestADrainedClusterEndsItsWorkers(t *testing.T) {
	f, both := onTwo(t)
	f.child("r", "a0", "c", reusable(policy(2, 2, 1)))
	f.soon("two workers are wanted", func() bool { return len(f.desiredOn("east")) == 2 })
	ids := f.desiredOn("east")
	east := f.start(ids[0])
	begun := east.take()
	f.reaches("r", "c", common.ActionPhase_ACTION_PHASE_RUNNING)
	both.set("west", states.State{State: states.Ready})
	both.set("east", states.State{State: states.Draining})
	f.soon("only the worker with work is left", func() bool { return slices.Equal([]string{ids[0]}, f.desiredOn("east")) })
	require.Equal(t, common.ActionPhase_ACTION_PHASE_RUNNING, f.phase("r", "c"))
	east.succeed(begun)
	require.NotNil(t, east.within().GetDrain())
	east.leave()
	require.Empty(t, f.desiredOn("east"))
}

// TestARemovedClusterHasNoWorkers: what they ran, others run, and none of them gets a token or a session.
func TestARemovedClusterHasNoWorkers(t *testing.T) {
	f, both := onTwo(t)
	f.child("r", "a0", "c", reusable(policy(0, 1, 1)))
	east := f.workerOn("east")
	lost := east.take()
	f.reaches("r", "c", common.ActionPhase_ACTION_PHASE_RUNNING)
	both.set("west", states.State{State: states.Ready})
	both.set("east", states.State{State: states.Removed})
	f.soon("no worker is wanted", func() bool { return len(f.desiredOn("east")) == 0 })
	_, err := f.fleet.IssueWorkerToken(t.Context(), &enginev1.IssueWorkerTokenRequest{Id: east.id})
	require.True(t, rpc.IsNotFound(err), "%v", err)
	require.True(t, rpc.IsNotFound(<-east.failure))
	again := f.workerOn("west").within().GetAssignment()
	require.Equal(t, lost.GetAction().GetName(), again.GetAction().GetName())
	require.Greater(t, again.GetId().GetAttempt(), lost.GetId().GetAttempt())
}
