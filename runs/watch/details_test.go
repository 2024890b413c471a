package watch_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func (f *fixture) actionDetails(id ident.Action) *stream[*workflow.WatchActionDetailsResponse] {
	f.t.Helper()
	return follow(f.t, func(ctx context.Context, send func(*workflow.WatchActionDetailsResponse) error) error {
		return f.streams.ActionDetails(ctx, id, send)
	})
}

func phasesOf(all []*workflow.WatchActionDetailsResponse) []common.ActionPhase {
	seen := make([]common.ActionPhase, 0, len(all))
	for _, response := range all {
		seen = append(seen, response.GetDetails().GetStatus().GetPhase())
	}
	return seen
}

func TestActionDetailsUntilTheEnd(t *testing.T) {
	f := newFixture(t)
	r := f.run("p", "development", "r1")
	s := f.actionDetails(r.Root())
	s.count(1)
	r.child("other") // not about this action
	r.move("a0", running)
	s.count(2)
	r.apply(change{name: "a0", phase: failed, error: &core.ExecutionError{Code: "X", Message: "broken", Kind: core.ExecutionError_USER}})
	require.NoError(t, s.end())
	all := s.all()
	require.Equal(t, []common.ActionPhase{queued, running, failed}, phasesOf(all))
	last := all[2].GetDetails()
	require.Equal(t, "broken", last.GetErrorInfo().GetMessage(), "the last message has the whole result")
	require.Equal(t, failed, last.GetAttempts()[0].GetPhase())
	require.NotNil(t, last.GetStatus().GetEndTime())
}

// Streams of actions without an executor's events end too: traces, conditions, runs aborted before they started.
//
// Story R16: the stream of an action's details never ended for traces, conditions and early aborts.
func TestActionDetailsEndWithoutExecutorEvents(t *testing.T) {
	f := newFixture(t)
	r := f.run("p", "development", "r1")
	r.apply(change{name: "trace", parent: "a0", kind: workflow.ActionType_ACTION_TYPE_TRACE, phase: succeeded})
	s := f.actionDetails(ident.Action{Run: r.Run, Name: "trace"})
	require.NoError(t, s.end())
	require.Len(t, s.all(), 1, "a terminal action is sent once")

	r.apply(change{name: "gate", parent: "a0", kind: workflow.ActionType_ACTION_TYPE_CONDITION, phase: pausedNow})
	s = f.actionDetails(ident.Action{Run: r.Run, Name: "gate"})
	require.Equal(t, core.SimpleType_BOOLEAN, s.count(1)[0].GetDetails().GetMetadata().GetCondition().GetType().GetSimple())
	r.apply(change{name: "gate", phase: succeeded, signal: &workflow.SignalInfo{Output: &core.Literal{}}})
	require.NoError(t, s.end())
	require.NotNil(t, s.all()[1].GetDetails().GetSignalInfo())

	s = f.actionDetails(r.Root())
	s.count(1)
	r.move("a0", aborted)
	require.NoError(t, s.end())
	require.NotNil(t, s.all()[1].GetDetails().GetAbortInfo())

	require.True(t, rpc.IsNotFound(f.actionDetails(ident.Action{Run: r.Run, Name: "nobody"}).end()))
}

func TestActionDetailsAreReadOnceForAll(t *testing.T) {
	f := newFixture(t)
	r := f.run("p", "development", "r1")
	const subscribers, commits = 200, 5
	streams := make([]*stream[*workflow.WatchActionDetailsResponse], subscribers)
	for i := range streams {
		streams[i] = f.actionDetails(r.Root())
	}
	for _, s := range streams {
		s.count(1)
	}
	require.LessOrEqual(t, f.details.reads.Load(), int64(3), "streams that start together share reads")
	before := f.details.reads.Load()
	for attempt := range commits {
		r.apply(change{name: "a0", phase: running, attempt: int32(attempt) + 1})
		for _, s := range streams {
			s.count(attempt + 2)
		}
	}
	require.LessOrEqual(t, f.details.reads.Load()-before, int64(2*commits))
	r.move("a0", succeeded)
	for _, s := range streams {
		require.NoError(t, s.end())
	}
}

func TestActionDetailsAge(t *testing.T) {
	fake := clock.NewFake(clock.System{}.Now())
	f := newFixture(t, withClock(fake))
	r := f.run("p", "development", "r1")
	s := f.actionDetails(r.Root())
	s.count(1)
	require.Eventually(t, func() bool { return fake.Timers() == 3 }, wait, tick, "the poll, the age and the refresh, no heartbeat")
	before := f.details.reads.Load()
	fake.Step(10 * time.Second)
	require.Eventually(t, func() bool { return f.details.reads.Load() > before }, wait, tick, "why it waits may have changed")
	require.Eventually(t, func() bool { return fake.Timers() == 3 }, wait, tick)
	fake.Step(f.config.MaxAge)
	require.NoError(t, s.end())
	require.Len(t, s.all(), 1)
}

func TestRunDetails(t *testing.T) {
	f := newFixture(t)
	r := f.run("p", "development", "r1")
	watch := func() *stream[*workflow.WatchRunDetailsResponse] {
		return follow(t, func(ctx context.Context, send func(*workflow.WatchRunDetailsResponse) error) error {
			return f.streams.RunDetails(ctx, r.Run, send)
		})
	}
	s := watch()
	first := s.count(1)[0].GetDetails()
	require.Equal(t, "a0", first.GetAction().GetId().GetName())
	require.NotNil(t, first.GetRunSpec())
	for i := range 3 {
		r.child(fmt.Sprintf("c%d", i)) // children do not concern it
	}
	r.move("a0", succeeded)
	require.NoError(t, s.end())
	require.Len(t, s.all(), 2)
	require.Equal(t, succeeded, s.all()[1].GetDetails().GetAction().GetStatus().GetPhase())
	s = watch()
	require.NoError(t, s.end())
	require.Len(t, s.all(), 1)
}

func TestClusterEvents(t *testing.T) {
	f := newFixture(t)
	r := f.run("p", "development", "r1")
	observed := func(phase common.ActionPhase, attempt int32, messages ...string) change {
		event := &workflow.ActionEvent{Attempt: uint32(attempt), Phase: phase}
		for _, message := range messages {
			event.ClusterEvents = append(event.ClusterEvents, &workflow.ClusterEvent{Message: message})
		}
		return change{name: "a0", phase: phase, attempt: attempt, event: event}
	}
	watch := func(attempt uint32) *stream[*workflow.WatchClusterEventsResponse] {
		return follow(t, func(ctx context.Context, send func(*workflow.WatchClusterEventsResponse) error) error {
			return f.streams.ClusterEvents(ctx, r.Root(), attempt, send)
		})
	}
	heard := func(s *stream[*workflow.WatchClusterEventsResponse]) []string {
		var messages []string
		for _, response := range s.all() {
			for _, event := range response.GetClusterEvents() {
				messages = append(messages, event.GetMessage())
			}
		}
		return messages
	}

	first, second := watch(1), watch(2)
	require.Empty(t, first.count(1)[0].GetClusterEvents(), "the first message comes at once")
	second.count(1)
	r.apply(observed(3, 1, "pulling", "pulled"))
	first.count(2)
	r.apply(observed(running, 1, "started"))
	r.apply(observed(failed, 1, "killed"), observed(queued, 2))
	require.NoError(t, first.end(), "the attempt has ended")
	require.Equal(t, []string{"pulling", "pulled", "started", "killed"}, heard(first))
	r.apply(observed(running, 2, "started again"))
	r.apply(observed(succeeded, 2))
	require.NoError(t, second.end())
	require.Equal(t, []string{"started again"}, heard(second))

	late := watch(1)
	require.NoError(t, late.end())
	require.Equal(t, heard(first), heard(late))
	require.NoError(t, watch(3).end(), "an attempt that will never exist")
}
