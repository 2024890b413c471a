package watch_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/watches"
	"github.com/flyte-binary/flyte-binary/runs/watch"
)

// replica is a process's writer and hub on the database of a fixture.
type replica struct {
	*store.Writer
	t       testing.TB
	streams *watch.Streams
}

func (f *fixture) replica(name string) *replica {
	f.t.Helper()
	hub, streams := f.newHub(watch.HubDeps{
		Log: f.reader, Clock: f.clock, Logger: zerolog.Nop(), Replica: name,
	})
	f.listenFor(hub)
	r := &replica{t: f.t, streams: streams, Writer: store.NewWriter(store.DefaultWriterConfig(), store.WriterDeps{
		Pool: f.pool, Clock: clock.System{}, Waker: hub, Logger: zerolog.Nop(), Replica: name,
	})}
	require.NoError(f.t, r.Start(f.t.Context()))
	f.t.Cleanup(func() { require.NoError(f.t, r.Stop(context.WithoutCancel(f.t.Context()))) })
	return r
}

func (r *replica) create(run ident.Run) {
	r.t.Helper()
	_, _, err := r.CreateRun(r.t.Context(), store.NewRun{Root: schema.Root{
		Action:        schema.Action{Project: run.Project, Domain: run.Domain, RunName: run.Name, TaskName: "env.main"},
		RequestDigest: []byte("request"), RunOutputBase: "/data/" + run.Name + "/",
	}})
	require.NoError(r.t, err)
}

func (r *replica) child(run ident.Run, parent, name string) error {
	digest, body := schema.SpecDigest(schema.SpecTask, []byte("spec")), []byte("spec")
	return r.RecordAction(r.t.Context(), store.NewAction{
		Action: schema.Action{
			Project: run.Project, Domain: run.Domain, RunName: run.Name, Name: name, ParentName: &parent, ActionType: 1, SpecDigest: digest,
		},
		Spec: store.NewSpec{Kind: schema.SpecTask, Digest: digest, Body: body},
	})
}

func (r *replica) report(run ident.Run, name string, positions ...state.Position) error {
	transitions := make([]store.Transition, len(positions))
	for i, to := range positions {
		transitions[i] = store.Transition{Action: ident.Action{Run: run, Name: name}, To: to}
		if to.Phase == state.Failed {
			body, err := proto.Marshal(&core.ExecutionError{Code: "E", Message: name})
			require.NoError(r.t, err)
			transitions[i].Error = body
		}
	}
	_, err := r.RecordTransitions(r.t.Context(), transitions)
	return err
}

// Two replicas write the same run at the same time, with lost attempts, late reports and an abort; parents watch at
// both. Every parent learns every child's end once, with its result, and no attempt's end for one of the action.
func TestReplicasWithTheRealWriter(t *testing.T) {
	f := newFixture(t, withConfig(func(c *watch.Config) { c.Ring, c.Page = 16, 5 }))
	replicas := []*replica{f.replica("left"), f.replica("right")}
	for round := range 5 {
		run := ident.Run{Project: "p", Domain: "development", Name: fmt.Sprintf("r%d", round)}
		replicas[0].create(run)
		const perWriter = 25
		streams := []*childrenStream{f.childrenOf(replicas[0].streams, run.Root()), f.childrenOf(replicas[1].streams, run.Root())}
		details := follow(t, func(ctx context.Context, send func(*workflow.WatchActionDetailsResponse) error) error {
			return replicas[1].streams.ActionDetails(ctx, run.Root(), send)
		})
		tree := follow(t, func(ctx context.Context, send func(*workflow.WatchActionsResponse) error) error {
			return replicas[1].streams.Actions(ctx, run, watch.TreeFilter{}, send)
		})
		release := streams[1].hold()

		var work sync.WaitGroup
		for w, r := range replicas {
			for half := range 2 {
				work.Go(func() { r.work(run, fmt.Sprintf("w%dh%d", w, half), perWriter) })
			}
		}
		streams = append(streams, f.childrenOf(replicas[1].streams, run.Root())) // in the middle of it
		work.Wait()
		release()
		require.NoError(t, replicas[0].child(run, ident.RootAction, "left over"))
		require.NoError(t, replicas[1].report(run, ident.RootAction, state.Position{Attempt: 1, Phase: state.Succeeded}))
		for _, s := range streams {
			all := s.until(func(all []*enginev1.WatchChildrenResponse) bool { return len(ends(t, all)) == 4*perWriter+1 }, "every end")
			got := ends(t, all)
			require.Equal(t, "7", got["left over"], "what the parent left behind is aborted")
			require.Equal(t, "6 E w0h0c0", got["w0h0c0"])
			require.Equal(t, "5 /data/"+run.Name+"/w0h0c1/2", got["w0h0c1"], "the second attempt's output")
			s.cancel()
		}
		require.NoError(t, details.end())
		tree.until(func(all []*workflow.WatchActionsResponse) bool {
			seen := console(t, all)
			return len(seen) == 4*perWriter+2 && seen["a0"] == fmt.Sprintf("5 map[5:%d 6:%d 7:1]", 4*perWriter-4, 4)
		}, "the whole tree")
		tree.cancel()
	}
}

// work makes children and brings them to an end: the first fails for good, every third loses an attempt.
func (r *replica) work(run ident.Run, prefix string, n int) {
	at := func(attempt int32, phase state.Phase) state.Position {
		return state.Position{Attempt: attempt, Phase: phase}
	}
	for i := range n {
		name := fmt.Sprintf("%sc%d", prefix, i)
		require.NoError(r.t, r.child(run, ident.RootAction, name))
		steps := [][]state.Position{{at(1, state.Initializing)}, {at(1, state.Running)}, {at(1, state.Succeeded)}}
		switch {
		case i == 0:
			steps[2] = []state.Position{at(1, state.Failed)}
		case i%3 == 1:
			steps = append(steps[:2], []state.Position{at(1, state.Failed), at(2, state.Queued)},
				[]state.Position{at(2, state.Running)}, []state.Position{at(1, state.Running)}, []state.Position{at(2, state.Succeeded)})
		}
		for _, step := range steps {
			require.NoError(r.t, r.report(run, name, step...))
			if rand.IntN(4) == 0 {
				require.NoError(r.t, r.report(run, name, step...)) // reported twice
			}
		}
	}
}

// ends returns the children that ended, and how.
func ends(t testing.TB, all []*enginev1.WatchChildrenResponse) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, response := range all {
		update := response.GetMessage().GetActionUpdate()
		name := update.GetActionId().GetName()
		require.Empty(t, out[name], "%s goes on after its end: %v", name, update)
		switch update.GetPhase() {
		case succeeded:
			out[name] = "5 " + update.GetOutputUri()
		case failed:
			out[name] = fmt.Sprintf("6 %s %s", update.GetError().GetCode(), update.GetError().GetMessage())
		case aborted:
			out[name] = "7"
		}
	}
	return out
}

func TestStreamsServeRowsOfTheWriter(t *testing.T) {
	f := newFixture(t)
	r := f.replica("one")
	list := follow(t, func(ctx context.Context, send func(*workflow.WatchRunsResponse) error) error {
		return r.streams.Runs(ctx, watches.RunTarget{Project: "p", Domain: "development"}, send)
	})
	list.count(1)
	run := ident.Run{Project: "p", Domain: "development", Name: "fresh"}
	r.create(run)
	list.until(has("fresh:1"), "the created run")
	require.NoError(t, r.Abort(t.Context(), store.Abort{Action: run.Root(), Reason: "enough"}))
	list.until(has("fresh:7"), "its abort")
	s := follow(t, func(ctx context.Context, send func(*workflow.WatchActionDetailsResponse) error) error {
		return r.streams.ActionDetails(ctx, run.Root(), send)
	})
	require.NoError(t, s.end())
	require.Equal(t, "enough", s.all()[0].GetDetails().GetAbortInfo().GetReason())
}
