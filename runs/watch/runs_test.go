package watch_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/store/watches"
	"github.com/flyte-binary/flyte-binary/runs/watch"
)

const (
	wait = 20 * time.Second
	tick = time.Millisecond
)

func (f *fixture) runs(target watches.RunTarget) *stream[*workflow.WatchRunsResponse] {
	f.t.Helper()
	return follow(f.t, func(ctx context.Context, send func(*workflow.WatchRunsResponse) error) error {
		return f.streams.Runs(ctx, target, send)
	})
}

// runsTold is a stream of runs in words: name:phase.
func runsTold(all []*workflow.WatchRunsResponse) []string {
	var words []string
	for _, response := range all {
		for _, run := range response.GetRuns() {
			words = append(words, fmt.Sprintf("%s:%d", run.GetAction().GetId().GetRun().GetName(), run.GetAction().GetStatus().GetPhase()))
		}
	}
	return words
}

func has(word string) func([]*workflow.WatchRunsResponse) bool {
	return func(all []*workflow.WatchRunsResponse) bool { return slices.Contains(runsTold(all), word) }
}

func TestRunsSnapshotCreatedAndChanged(t *testing.T) {
	f := newFixture(t)
	project := watches.RunTarget{Project: "p", Domain: "development"}
	empty := f.runs(project)
	require.Empty(t, empty.count(1)[0].GetRuns(), "the first message comes even when there is no run")

	r1 := f.run("p", "development", "r1")
	f.run("p", "production", "other")
	empty.until(has("r1:1"), "a created run")
	r2 := f.run("p", "development", "r2")
	s := f.runs(project)
	require.Equal(t, []string{"r2:1", "r1:1"}, runsTold(s.count(1)), "newest first")
	require.Equal(t, map[string]string{"team": "x"}, s.all()[0].GetRuns()[0].GetLabels())
	r1.move("a0", running)
	s.until(has("r1:4"), "a change")
	r2.move("a0", succeeded)
	s.until(has("r2:5"), "an end")
	empty.until(has("r2:5"), "an end")
	require.NotContains(t, runsTold(empty.all()), "other:1")
	require.Zero(t, f.hub.Feeds(), "a list follows no run by itself")

	all := f.runs(watches.RunTarget{})
	require.ElementsMatch(t, []string{"other:1", "r2:5", "r1:4"}, runsTold(all.count(1)))
}

func TestRunsOfATask(t *testing.T) {
	f := newFixture(t)
	s := f.runs(watches.RunTarget{Project: "p", Domain: "development", TaskName: "env.main", TaskVersion: "v2"})
	s.count(1)
	f.taskRun("p", "development", "r1", "env.main", "v1")
	f.taskRun("p", "development", "r2", "env.other", "v2")
	f.taskRun("p", "development", "r3", "env.main", "v2")
	s.until(has("r3:1"), "the task's run")
	require.Equal(t, []string{"r3:1"}, runsTold(s.all()))
}

func TestRunsTargets(t *testing.T) {
	for name, c := range map[string]struct {
		req  *workflow.WatchRunsRequest
		want watches.RunTarget
	}{
		"org":     {&workflow.WatchRunsRequest{Target: &workflow.WatchRunsRequest_Org{Org: "o"}}, watches.RunTarget{}},
		"cluster": {&workflow.WatchRunsRequest{Target: &workflow.WatchRunsRequest_ClusterId{ClusterId: &common.ClusterIdentifier{Name: "c"}}}, watches.RunTarget{}},
		"project": {
			&workflow.WatchRunsRequest{Target: &workflow.WatchRunsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: "p", Domain: "d"}}},
			watches.RunTarget{Project: "p", Domain: "d"},
		},
		"task": {
			&workflow.WatchRunsRequest{Target: &workflow.WatchRunsRequest_TaskId{TaskId: &task.TaskIdentifier{Project: "p", Domain: "d", Name: "n", Version: "v"}}},
			watches.RunTarget{Project: "p", Domain: "d", TaskName: "n", TaskVersion: "v"},
		},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, watch.TargetOf(c.req)) })
	}
}

func TestRunsLostWakeupsAreHealed(t *testing.T) {
	for name, target := range map[string]watches.RunTarget{"project": {Project: "p", Domain: "development"}, "all": {}} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, withConfig(func(c *watch.Config) { c.Poll = 20 * time.Millisecond }))
			f.wake.Store(false)
			f.run("a", "x", "elsewhere")
			s := f.runs(target)
			s.count(1)
			r := f.run("p", "development", "r1")
			s.until(has("r1:1"), "a run without a notification")
			r.move("a0", succeeded)
			s.until(has("r1:5"), "an end without a notification")
			before := len(s.all())
			require.Never(t, func() bool { return len(s.all()) > before }, 100*time.Millisecond, 20*time.Millisecond,
				"what did not change is not sent again")
		})
	}
}

func TestRunsSlowClientMissesNothing(t *testing.T) {
	f := newFixture(t, withConfig(func(c *watch.Config) { c.Window, c.Ring = time.Millisecond, 4 }))
	s, quick := f.runs(watches.RunTarget{}), f.runs(watches.RunTarget{})
	s.count(1)
	quick.count(1)
	release := s.hold()
	const n = 30
	for i := range n {
		f.run("p", "development", fmt.Sprintf("r%d", i)).move("a0", succeeded)
	}
	quick.until(has(fmt.Sprintf("r%d:5", n-1)), "the last run")
	release()
	for i := range n {
		s.until(has(fmt.Sprintf("r%d:5", i)), "every run's end")
	}
}

func TestRunsHeartbeat(t *testing.T) {
	fake := clock.NewFake(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	f := newFixture(t, withClock(fake))
	s := f.runs(watches.RunTarget{})
	s.count(1)
	require.Eventually(t, func() bool { return fake.Timers() == 3 }, wait, tick)
	fake.Step(f.config.Heartbeat)
	require.Empty(t, s.count(2)[1].GetRuns())
	require.Eventually(t, func() bool { return fake.Timers() == 3 }, wait, tick)
	fake.Step(f.config.MaxAge)
	require.NoError(t, s.end())
}

// What the feed read before a client's first message but sends after it is stale.
func TestRunsDoNotGoBack(t *testing.T) {
	f := newFixture(t)
	r := f.run("p", "development", "r1")
	early := f.runs(watches.RunTarget{})
	early.count(1)
	hold := make(chan struct{})
	f.reader.holdRoots.Store(&hold)
	r.move("a0", running)
	require.Eventually(t, func() bool { return f.reader.heldRoots.Load() == 1 }, wait, tick)
	r.move("a0", succeeded)
	late := f.runs(watches.RunTarget{})
	require.Equal(t, []string{"r1:5"}, runsTold(late.count(1)))
	f.reader.holdRoots.Store(nil)
	close(hold)
	early.until(has("r1:5"), "the end")
	require.Contains(t, runsTold(early.all()), "r1:4")
	f.run("p", "development", "r2")
	late.until(has("r2:1"), "the next run")
	require.NotContains(t, runsTold(late.all()), "r1:4")
}
