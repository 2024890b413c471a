package taskactions_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/actions/taskactions"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

// back is the assignment of an action whose attempt was taken back and that came back to this cluster.
func back(uid int64, name string) *enginev1.Assignment {
	a := assignment(uid, name)
	a.Attempt, a.Ref.Placement = 3, 2
	return a
}

// object is the object of an action as it is in the cluster.
func (f *fixture) object(a *enginev1.Assignment) *v1.TaskAction {
	f.t.Helper()
	object := &v1.TaskAction{}
	require.NoError(f.t, f.cluster.Client.Get(f.t.Context(), client.ObjectKeyFromObject(taskactions.FromAssignment(a, f.cluster.Namespace)), object))
	return object
}

// TestNewObjectsWaitForThePodsOfActionsThatWereTakenAway: however the API took an action away, its pod ends before anything new begins here,
// the action itself included.
func TestNewObjectsWaitForThePodsOfActionsThatWereTakenAway(t *testing.T) {
	taken, next := assignment(1, "taken"), assignment(2, "next")
	for name, c := range map[string]struct {
		take func(f *fixture)
		then string
	}{
		"while the API could not be reached": {func(f *fixture) {
			f.engine.breakStreams(true)
			f.engine.release(taken, false)
			f.engine.assign(next, false)
			f.engine.breakStreams(false)
		}, "next"},
		"while the API could not be reached, and it came back": {func(f *fixture) {
			f.engine.breakStreams(true)
			f.engine.assign(back(1, "taken"), false)
			f.engine.assign(next, false)
			f.engine.breakStreams(false)
		}, "next taken"},
		"while the stream worked, but the API did not hear the link of this cluster": {func(f *fixture) {
			f.doubtful.Store(true)
			f.engine.release(taken, true)
			f.engine.assign(next, true)
		}, "next"},
		"while the stream worked, and it came back": {func(f *fixture) {
			f.doubtful.Store(true)
			f.engine.release(taken, true)
			f.engine.assign(back(1, "taken"), true)
			f.engine.assign(next, true)
		}, "next taken"},
		"between a stream that ended at its age and the next one": {func(f *fixture) {
			f.doubtful.Store(true)
			f.engine.release(taken, false)
			f.engine.assign(next, false)
			f.engine.endStreams()
		}, "next"},
	} {
		for seen, set := range map[string]func(*executor, int64, bool){"in the cache": (*executor).setPods, "by the API server alone": (*executor).setUnseen} {
			t.Run(name+", its pod is known "+seen, func(t *testing.T) {
				f := newFixture(t)
				f.engine.assign(taken, true)
				f.start()
				f.eventually("taken")
				set(f.executor, 1, true)
				c.take(f)
				f.eventually("")
				require.Never(t, func() bool { return f.actions(f.cluster.Namespace) != "" }, 400*time.Millisecond, 10*time.Millisecond)
				set(f.executor, 1, false)
				f.eventually(c.then)
			})
		}
	}
}

// TestAnActionThatCameBackWaitsForThePodsOfOthers: its own have ended, but it is new work here, too. Once it ran, its pod could wait for
// children that wait for the fence.
func TestAnActionThatCameBackWaitsForThePodsOfOthers(t *testing.T) {
	f := newFixture(t)
	f.engine.assign(assignment(1, "parent"), true)
	f.engine.assign(assignment(2, "other"), true)
	f.start()
	f.eventually("other parent")
	f.executor.setPods(2, true)
	f.executor.retain(assignment(1, "parent")) // what removes its object is still at it when it is back
	f.doubtful.Store(true)
	f.engine.release(assignment(2, "other"), true)
	f.engine.release(assignment(1, "parent"), true)
	f.engine.assign(back(1, "parent"), true)
	f.eventually("parent")
	f.executor.drop(assignment(1, "parent"))
	f.eventually("")
	require.Never(t, func() bool { return f.actions(f.cluster.Namespace) != "" }, 400*time.Millisecond, 10*time.Millisecond)
	f.executor.setPods(2, false)
	f.eventually("parent")
}

// TestAnObjectThatAppearsLateEnds: its creation was under way when its action was taken back, which has come back since.
func TestAnObjectThatAppearsLateEnds(t *testing.T) {
	f := newFixture(t)
	f.engine.assign(assignment(2, "other"), true)
	f.start()
	f.eventually("other")
	f.executor.setPods(2, true)
	f.doubtful.Store(true)
	f.engine.release(assignment(2, "other"), true)
	f.engine.assign(back(1, "late"), true)
	f.eventually("")
	require.NoError(t, f.cluster.Client.Create(t.Context(), taskactions.FromAssignment(assignment(1, "late"), f.cluster.Namespace)))
	f.eventually("")
	f.executor.setPods(2, false)
	f.eventually("late")
	require.EqualValues(t, 2, f.object(back(1, "late")).Placement())
}

// What is released while the control plane hears this cluster is an abort, and holds up nothing.
func TestNewObjectsDoNotWaitForThePodsOfAbortedActions(t *testing.T) {
	f := newFixture(t)
	f.engine.assign(assignment(1, "aborted"), true)
	f.start()
	f.eventually("aborted")
	f.executor.setPods(1, true)
	f.engine.release(assignment(1, "aborted"), true)
	f.engine.assign(assignment(2, "next"), true)
	f.eventually("next")
}

// An attempt was taken back while the API could not be reached, and a later one came back to this cluster: the object of the earlier one and
// its pod end first.
func TestTheObjectOfAnEarlierPlacementIsReplaced(t *testing.T) {
	f := newFixture(t)
	f.engine.assign(assignment(1, "a0"), true)
	f.start()
	f.eventually("a0")
	f.executor.setPods(1, true)
	f.engine.breakStreams(true)
	f.engine.assign(back(1, "a0"), false)
	f.engine.breakStreams(false)
	f.eventually("")
	require.Never(t, func() bool { return f.actions(f.cluster.Namespace) != "" }, 400*time.Millisecond, 10*time.Millisecond)
	f.executor.setPods(1, false)
	f.eventually("a0")
	object := f.object(back(1, "a0"))
	require.EqualValues(t, 3, object.Spec.Attempt)
	require.EqualValues(t, 2, object.Placement())
}
