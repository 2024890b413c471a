package watch_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/watch"
)

type childrenStream = stream[*enginev1.WatchChildrenResponse]

func (f *fixture) children(parent ident.Action) *childrenStream {
	return f.childrenOf(f.streams, parent)
}

func (f *fixture) childrenOf(streams *watch.Streams, parent ident.Action) *childrenStream {
	f.t.Helper()
	return follow(f.t, func(ctx context.Context, send func(*enginev1.WatchChildrenResponse) error) error {
		return streams.Children(ctx, parent, send)
	})
}

// told is a stream of children in words: name:phase, or | for a sentinel.
func told(all []*enginev1.WatchChildrenResponse) []string {
	words := make([]string, 0, len(all))
	for _, response := range all {
		if update := response.GetMessage().GetActionUpdate(); update != nil {
			words = append(words, fmt.Sprintf("%s:%d", update.GetActionId().GetName(), update.GetPhase()))
		} else if response.GetMessage().GetControlMessage().GetSentinel() {
			words = append(words, "|")
		}
	}
	return words
}

// Story R23: every parent that reconnected made the API server list its whole run, and still missed its traces.
func TestChildrenSnapshotSentinelChanges(t *testing.T) {
	f := newFixture(t)
	r := f.run("p", "development", "r1")
	r.child("one")
	r.apply(change{name: "two", parent: "a0", phase: succeeded, output: "/base/two/1"})
	r.apply(change{name: "trace", parent: "a0", kind: workflow.ActionType_ACTION_TYPE_TRACE, phase: succeeded, output: "/base/trace/outputs.pb"})
	value := &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Primitive{
		Primitive: &core.Primitive{Value: &core.Primitive_Boolean{Boolean: true}},
	}}}}
	r.apply(change{
		name: "gate", parent: "a0", kind: workflow.ActionType_ACTION_TYPE_CONDITION, phase: succeeded,
		signal: &workflow.SignalInfo{Output: value},
	})
	r.apply(change{name: "grandchild", parent: "one", phase: running})

	s := f.children(r.Root())
	all := s.count(5)
	require.Equal(t, []string{"one:1", "two:5", "trace:5", "gate:5", "|"}, told(all), "the snapshot has no grandchildren")
	require.Equal(t, "/base/two/1", all[1].GetMessage().GetActionUpdate().GetOutputUri())
	require.Equal(t, "/base/trace/outputs.pb", all[2].GetMessage().GetActionUpdate().GetOutputUri())
	require.True(t, proto.Equal(value, all[3].GetMessage().GetActionUpdate().GetValue()))
	require.True(t, proto.Equal(r.Root().Run.Proto(), all[0].GetMessage().GetActionUpdate().GetActionId().GetRun()))

	r.move("one", running)
	s.count(6)
	failure := &core.ExecutionError{
		Code: "ValueError", Message: "no", Kind: core.ExecutionError_USER, Recoverability: core.ContainerError_RECOVERABLE, ErrorUri: "/e",
	}
	r.apply(change{name: "one", phase: failed, error: failure, output: "/base/one/1"})
	all = s.count(7)
	require.Equal(t, []string{"one:4", "one:6"}, told(all[5:]))
	require.True(t, proto.Equal(failure, all[6].GetMessage().GetActionUpdate().GetError()), "the whole error comes with the end")
	require.Equal(t, "/base/one/1", all[6].GetMessage().GetActionUpdate().GetOutputUri())

	r.apply(change{name: "late", parent: "a0", phase: queued})
	s.count(8)
	r.apply(change{name: "late", phase: timedOut, error: &core.ExecutionError{Code: "TimedOut"}})
	require.Equal(t, "TimedOut", s.count(9)[8].GetMessage().GetActionUpdate().GetError().GetCode())
}

func TestChildrenNothingAfterTheEnd(t *testing.T) {
	f := newFixture(t)
	r := f.run("p", "development", "r1")
	s := f.children(r.Root())
	s.count(1)
	r.apply(change{name: "x", parent: "a0", phase: failed})
	s.count(2)
	r.apply(change{name: "x", phase: running, attempt: 2}) // should never be written; the stream must not pass it on
	r.apply(change{name: "x", phase: succeeded, attempt: 2})
	r.child("y")
	s.until(func(all []*enginev1.WatchChildrenResponse) bool { return told(all)[len(all)-1] == "y:1" }, "the next child")
	require.Equal(t, []string{"|", "x:6", "y:1"}, told(s.all()))
}

func TestChildrenLostAttemptIsNoEnd(t *testing.T) {
	f := newFixture(t)
	r := f.run("p", "development", "r1")
	r.child("x")
	s := f.children(r.Root())
	s.count(2)
	r.apply(change{name: "x", phase: failed}, change{name: "x", phase: queued, attempt: 2})
	r.apply(change{name: "x", phase: succeeded, attempt: 2})
	all := s.until(func(all []*enginev1.WatchChildrenResponse) bool { return told(all)[len(all)-1] == "x:5" }, "success")
	require.NotContains(t, told(all), "x:6")
}

func TestChildrenEqualNamesDoNotLeak(t *testing.T) {
	f := newFixture(t)
	here, there := f.run("p", "development", "r1"), f.run("p", "production", "r1")
	s := f.children(here.Root())
	s.count(1)
	there.child("theirs")
	there.move("theirs", succeeded)
	here.child("ours")
	require.Equal(t, []string{"|", "ours:1"}, told(s.count(2)))
	require.Equal(t, "development", s.all()[1].GetMessage().GetActionUpdate().GetActionId().GetRun().GetDomain())
}

func TestChildrenOfUnknownParent(t *testing.T) {
	f := newFixture(t)
	r := f.run("p", "development", "r1")
	require.True(t, rpc.IsNotFound(f.children(ident.Action{Run: r.Run, Name: "nobody"}).end()))
	require.True(t, rpc.IsNotFound(f.children(ident.Run{Project: "p", Domain: "development", Name: "r2"}.Root()).end()))
}

// Story R15: watches silently dropped what did not fit into a buffer.
func TestChildrenSlowClientIsResynchronised(t *testing.T) {
	f := newFixture(t, withConfig(func(c *watch.Config) { c.Ring, c.Page = 10, 7 }))
	r := f.run("p", "development", "r1")
	slow, quick := f.children(r.Root()), f.children(r.Root())
	slow.count(1)
	quick.count(1)
	release := slow.hold()
	const n = 100
	for i := range n {
		r.child(fmt.Sprintf("c%d", i))
		r.move(fmt.Sprintf("c%d", i), succeeded)
	}
	ended := func(all []*enginev1.WatchChildrenResponse) bool {
		ends := 0
		for _, word := range told(all) {
			if word[0] == 'c' && word[len(word)-1] == '5' {
				ends++
			}
		}
		require.LessOrEqual(t, ends, n, "an end is sent once")
		return ends == n
	}
	quick.until(ended, "all ends, whatever the slow one does")
	require.Len(t, slow.all(), 1)
	release()
	slow.until(ended, "all ends after the client reads again")
	words := told(slow.all())
	require.Equal(t, "|", words[0])
	require.Contains(t, words[1:], "|", "the client is told that it was resynchronised")
}

func TestChildrenHeartbeatAndAge(t *testing.T) {
	fake := clock.NewFake(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	f := newFixture(t, withClock(fake))
	r := f.run("p", "development", "r1")
	s := f.children(r.Root())
	s.count(1)
	idle := func() { // the poll, the age, the heartbeat
		t.Helper()
		require.Eventually(t, func() bool { return fake.Timers() == 3 }, 10*time.Second, time.Millisecond)
	}
	idle()
	fake.Step(10 * time.Second)
	r.child("x")
	s.count(2)
	fake.Step(10 * time.Second)
	require.Never(t, func() bool { return len(s.all()) > 2 }, 50*time.Millisecond, 10*time.Millisecond, "not silent for 15 s yet")
	idle()
	fake.Step(5 * time.Second)
	s.count(3)
	idle()
	fake.Step(15 * time.Second)
	require.Equal(t, []string{"|", "x:1", "|", "|"}, told(s.count(4)), "heartbeats are sentinels")
	idle()
	fake.Step(f.config.MaxAge)
	require.NoError(t, s.end(), "an old stream ends cleanly")
}

func TestChildrenShutdown(t *testing.T) {
	f := newFixture(t)
	r := f.run("p", "development", "r1")
	s := f.children(r.Root())
	s.count(1)
	require.NoError(t, f.hub.Stop(t.Context()))
	require.True(t, rpc.IsUnavailable(s.end()))
	require.True(t, rpc.IsUnavailable(f.children(r.Root()).end()), "a stopped hub takes no subscribers")
}
