package taskactions_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/actions/taskactions"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
)

// TestNewObjectsWaitForThePodsOfActionsThatWereTakenAway: however the API took an action away, its pod ends before anything new begins here.
func TestNewObjectsWaitForThePodsOfActionsThatWereTakenAway(t *testing.T) {
	taken, next := assignment(1, "taken"), assignment(2, "next")
	for name, take := range map[string]func(f *fixture){
		"while the API could not be reached": func(f *fixture) {
			f.engine.breakStreams(true)
			f.engine.release(taken, false)
			f.engine.assign(next, false)
			f.engine.breakStreams(false)
		},
		"while the stream worked, but the API did not hear the link of this cluster": func(f *fixture) {
			f.doubtful.Store(true)
			f.engine.release(taken, true)
			f.engine.assign(next, true)
		},
		"between a stream that ended at its age and the next one": func(f *fixture) {
			f.doubtful.Store(true)
			f.engine.release(taken, false)
			f.engine.assign(next, false)
			f.engine.endStreams()
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.engine.assign(taken, true)
			f.start()
			f.eventually("taken")
			f.executor.setPods(1, true)
			take(f)
			f.eventually("")
			require.Never(t, func() bool { return f.actions(f.cluster.Namespace) != "" }, 400*time.Millisecond, 10*time.Millisecond)
			f.executor.setPods(1, false)
			f.eventually("next")
		})
	}
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
	back := assignment(1, "a0")
	back.Attempt, back.Ref.Placement = 3, 2
	f.engine.assign(back, false)
	f.engine.breakStreams(false)
	f.eventually("")
	require.Never(t, func() bool { return f.actions(f.cluster.Namespace) != "" }, 400*time.Millisecond, 10*time.Millisecond)
	f.executor.setPods(1, false)
	f.eventually("a0")
	object := &v1.TaskAction{}
	require.NoError(t, f.cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(taskactions.FromAssignment(back, f.cluster.Namespace)), object))
	require.EqualValues(t, 3, object.Spec.Attempt)
	require.EqualValues(t, 2, object.Placement())
}
