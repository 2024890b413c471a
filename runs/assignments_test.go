package runs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs"
)

// assignments is a stream of assignments, read one element at a time.
type assignments struct {
	t      testing.TB
	stream *connect.ServerStreamForClient[enginev1.WatchAssignmentsResponse]
}

func (c *writeFixture) watchAssignments() *assignments {
	return c.watchRunner(&enginev1.WatchAssignmentsRequest{})
}

func (c *writeFixture) watchRunner(request *enginev1.WatchAssignmentsRequest) *assignments {
	c.t.Helper()
	stream, err := c.engine.WatchAssignments(c.t.Context(), request)
	require.NoError(c.t, err)
	c.t.Cleanup(func() { _ = stream.Close() })
	return &assignments{t: c.t, stream: stream}
}

// next describes the next element in a few words.
func (a *assignments) next() string {
	a.t.Helper()
	require.True(a.t, a.stream.Receive(), "%v", a.stream.Err())
	switch m := a.stream.Msg().GetMessage().(type) {
	case *enginev1.WatchAssignmentsResponse_Live:
		text := "live"
		for _, ref := range m.Live.GetRefs() {
			text += " " + ref.GetId().GetRun().GetName() + "/" + ref.GetId().GetName()
		}
		return text
	case *enginev1.WatchAssignmentsResponse_Assignment:
		return "assign " + m.Assignment.GetRef().GetId().GetRun().GetName() + "/" + m.Assignment.GetRef().GetId().GetName()
	case *enginev1.WatchAssignmentsResponse_Release:
		return "release " + m.Release.GetRef().GetId().GetRun().GetName() + "/" + m.Release.GetRef().GetId().GetName()
	default:
		return "sentinel"
	}
}

// TestAssignmentsOfAShard: a stream has the actions of the runs in its shard and no others, in the snapshot and after it.
func TestAssignmentsOfAShard(t *testing.T) {
	c := newWriteFixture(t, nil)
	streams := make([]*assignments, ident.Shards)
	early, late := make([][]string, ident.Shards), make([][]string, ident.Shards)
	create := func(name string, of [][]string, as string) {
		shard := ident.Run{Project: "flytesnacks", Domain: "development", Name: name}.Shard()
		of[shard] = append(of[shard], as+name+"/a0")
		c.create(namedRun(name))
	}
	for i := range 3 * ident.Shards {
		create(fmt.Sprint("early", i), early, "")
	}
	for shard := range streams {
		streams[shard] = c.watchRunner(&enginev1.WatchAssignmentsRequest{Shard: proto.Uint32(uint32(shard))})
		if len(early[shard]) > 0 {
			require.Equal(t, "live "+strings.Join(early[shard], " "), streams[shard].next())
		}
		require.Equal(t, "sentinel", streams[shard].next())
	}
	for i := range 3 * ident.Shards {
		create(fmt.Sprint("late", i), late, "assign ")
	}
	for shard, stream := range streams {
		for _, want := range late[shard] {
			require.Equal(t, want, stream.next())
		}
	}
}

func TestAssignmentsFollowTheLiveSet(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r1"))
	w := c.watchAssignments()
	require.Equal(t, "live r1/a0", w.next())
	require.Equal(t, "sentinel", w.next())

	c.child("r1", "a0", "c")
	require.Equal(t, "assign r1/c", w.next())
	c.report(transition("r1", "c", 1, running)) // no news for the executor
	c.report(transition("r1", "c", 1, failed), transition("r1", "c", 2, queued))
	c.create(namedRun("r2"))
	require.Equal(t, "assign r2/a0", w.next())
	c.report(transition("r1", "c", 2, succeeded))
	require.Equal(t, "release r1/c", w.next())
	c.report(transition("r1", "a0", 1, succeeded))
	require.Equal(t, "release r1/a0", w.next())

	second := c.watchAssignments()
	require.Equal(t, "live r2/a0", second.next())
	require.Equal(t, "sentinel", second.next())
}

func TestAssignmentsOfAnotherReplica(t *testing.T) {
	c := newWriteFixture(t, nil)
	w := c.watchAssignments()
	require.Equal(t, "sentinel", w.next())
	other := writeFixtureOn(t, c.pool, nil)
	other.create(namedRun("r"))
	require.Equal(t, "assign r/a0", w.next())
	other.report(transition("r", "a0", 1, succeeded))
	require.Equal(t, "release r/a0", w.next())
}

func TestAssignmentIsWhole(t *testing.T) {
	c := newWriteFixture(t, nil)
	request := namedRun("r")
	request.RunSpec = &task.RunSpec{Envs: &task.Envs{Values: []*core.KeyValuePair{{Key: "K", Value: "V"}}}}
	c.create(request)
	child := childTask("r", "a0", "c")
	child.Group = "g"
	require.Zero(t, c.record(child))
	w := c.watchAssignments()
	require.Equal(t, "live r/a0 r/c", w.next())
	refs := w.stream.Msg().GetLive().GetRefs()
	uids := []int64{refs[0].GetUid(), refs[1].GetUid(), 1 << 40}
	response, err := c.engine.GetAssignments(t.Context(), &enginev1.GetAssignmentsRequest{Uids: uids})
	require.NoError(t, err)
	require.Len(t, response.GetAssignments(), 2)
	root, got := response.GetAssignments()[0], response.GetAssignments()[1]
	require.True(t, proto.Equal(request.GetRunSpec(), got.GetRunSpec()), "inherited from the root")
	require.True(t, proto.Equal(child.GetTask().GetSpec(), got.GetTask().GetSpec()))
	require.Equal(t, "a0", got.GetParent())
	require.Equal(t, "g", got.GetGroup())
	require.Equal(t, c.storage("r", "c").GetInputUri(), got.GetInputUri())
	require.Regexp(t, `^`+c.blobs.Root()+`/flytesnacks/development/r\.[a-z2-7]{16}/$`, got.GetRunOutputBase())
	require.EqualValues(t, 1, got.GetAttempt())
	require.True(t, proto.Equal(root.GetRunStartTime(), got.GetRunStartTime()))
	require.NotZero(t, got.GetRunStartTime().GetSeconds())
	require.Equal(t, map[int64]uint32{uids[0]: 1, uids[1]: 1}, c.liveAttempts(uids...))

	c.report(transition("r", "c", 1, succeeded))
	require.Equal(t, map[int64]uint32{uids[0]: 1}, c.liveAttempts(uids...))
	response, err = c.engine.GetAssignments(t.Context(), &enginev1.GetAssignmentsRequest{Uids: uids})
	require.NoError(t, err)
	require.Len(t, response.GetAssignments(), 1)
}

// liveAttempts are the attempts of actions that may run, by uid.
func (c *writeFixture) liveAttempts(uids ...int64) map[int64]uint32 {
	c.t.Helper()
	response, err := c.engine.GetLiveAttempts(c.t.Context(), &enginev1.GetLiveAttemptsRequest{Uids: uids})
	require.NoError(c.t, err)
	live := map[int64]uint32{}
	for _, one := range response.GetAttempts() {
		live[one.GetUid()] = one.GetAttempt()
	}
	return live
}

// TestAssignmentsOfAnotherClusterAreLeftOut: a controller learns only of what its cluster runs.
func TestAssignmentsOfAnotherClusterAreLeftOut(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r"))
	w := c.watchAssignments()
	require.Equal(t, "live r/a0", w.next())
	uid := w.stream.Msg().GetLive().GetRefs()[0].GetUid()
	for cluster, count := range map[string]int{"": 1, ident.DefaultCluster: 1, "west": 0} {
		response, err := c.engine.GetAssignments(t.Context(), &enginev1.GetAssignmentsRequest{Uids: []int64{uid}, Cluster: cluster})
		require.NoError(t, err)
		require.Len(t, response.GetAssignments(), count, cluster)
	}
	elsewhere := transition("r", "a0", 1, running)
	elsewhere.Event.Cluster = "west"
	response, err := c.engine.RecordTransitions(t.Context(), &enginev1.RecordTransitionsRequest{Transitions: []*enginev1.Transition{elsewhere}})
	require.NoError(t, err)
	require.Equal(t, []enginev1.TransitionOutcome{enginev1.TransitionOutcome_TRANSITION_OUTCOME_REFUSED}, response.GetOutcomes())
	require.Equal(t, queued, c.phase("r", "a0"))
}

// An executor that gets an assignment again must know what the earlier attempts cost.
func TestAssignmentCarriesWhatWasLost(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r"))
	c.child("r", "a0", "c")
	w := c.watchAssignments()
	require.Equal(t, "live r/a0 r/c", w.next())
	uid := w.stream.Msg().GetLive().GetRefs()[1].GetUid()
	get := func() *enginev1.Assignment {
		response, err := c.engine.GetAssignments(t.Context(), &enginev1.GetAssignmentsRequest{Uids: []int64{uid}})
		require.NoError(t, err)
		return response.GetAssignments()[0]
	}
	require.False(t, get().GetBegun())
	c.report(transition("r", "c", 1, running))
	require.True(t, get().GetBegun())
	for attempt, kind := range []workflow.ErrorInfo_Kind{workflow.ErrorInfo_KIND_USER, workflow.ErrorInfo_KIND_SYSTEM, workflow.ErrorInfo_KIND_USER} {
		lost := transition("r", "c", uint32(attempt+1), failed)
		lost.Event.ErrorInfo = &workflow.ErrorInfo{Code: "E", Kind: kind}
		lost.Error = &core.ExecutionError{Code: "E", Kind: core.ExecutionError_SYSTEM} // of a task that blames the system, too
		c.report(lost, transition("r", "c", uint32(attempt+2), queued))
	}
	got := get()
	require.False(t, got.GetBegun(), "the fourth has not")
	require.EqualValues(t, 4, got.GetAttempt())
	require.EqualValues(t, 2, got.GetUserFailures())
	require.EqualValues(t, 1, got.GetSystemFailures())
}

func TestAssignmentStreamHeartbeatsAndEnds(t *testing.T) {
	c := newWriteFixture(t, func(config *runs.Config) {
		config.Assignments.Heartbeat = 20 * time.Millisecond
		config.Assignments.MaxAge = 500 * time.Millisecond
		config.Assignments.PageSize = 2
	})
	for i := range 5 {
		c.create(namedRun(fmt.Sprint("r", i)))
	}
	w := c.watchAssignments()
	for _, page := range []string{"live r0/a0 r1/a0", "live r2/a0 r3/a0", "live r4/a0", "sentinel", "sentinel", "sentinel"} {
		require.Equal(t, page, w.next())
	}
	for w.stream.Receive() {
		require.NotNil(t, w.stream.Msg().GetSentinel())
	}
	require.NoError(t, w.stream.Err(), "a clean end")
}
