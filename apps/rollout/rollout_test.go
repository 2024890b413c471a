package rollout_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/apps/rollout"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/internal/test/proptest"
)

var (
	noon   = time.Date(2026, time.June, 1, 12, 0, 0, 0, time.UTC)
	limits = rollout.Limits{Start: 10 * time.Minute, Drain: 10 * time.Second, Stop: time.Minute}
)

// world is an app and its cluster as a test moves them.
type world struct {
	rollout.State
	in rollout.Input
}

func newWorld(scale rollout.Scale) *world {
	return &world{in: rollout.Input{
		Now: noon, Newest: rollout.Revision{Number: 1, Scale: scale}, Observed: map[uint64]rollout.Observed{}, Limits: limits,
	}}
}

func (w *world) decide() *world {
	before := w.State
	w.State = rollout.Next(w.State, w.in)
	if !w.SameRun(before) {
		w.in.Version++
	}
	w.in.Wake, w.in.Load = false, nil
	return w
}

// cluster does what was decided: each replica is there and ready, or not ready.
func (w *world) cluster(ready bool) *world {
	w.in.Observed = map[uint64]rollout.Observed{}
	for _, want := range w.Want {
		seen := rollout.Observed{Replicas: int(want.Replicas)}
		if ready {
			seen.Ready = seen.Replicas
		}
		w.in.Observed[want.Revision] = seen
	}
	w.in.Applied = w.in.Version
	return w.decide()
}

func (w *world) after(d time.Duration) *world {
	w.in.Now = w.in.Now.Add(d)
	return w.decide()
}

func (w *world) load(l rollout.Load) *world {
	w.in.Load = &l
	return w.decide()
}

func (w *world) revise(scale rollout.Scale) *world {
	w.in.Newest = rollout.Revision{Number: w.in.Newest.Number + 1, Scale: scale, TakesPort: w.in.Newest.TakesPort}
	return w.decide()
}

// text is what runs, what serves and the status, such as "1:1 →1 ACTIVE/RUNNING".
func (w *world) text() string {
	text := ""
	for _, want := range w.Want {
		text += fmt.Sprintf("%d:%d ", want.Revision, want.Replicas)
	}
	text += fmt.Sprintf("→%d %s", w.Route, app.Status_DeploymentStatus(w.Condition.Status).String()[len("DEPLOYMENT_STATUS_"):])
	if w.Condition.Substate != 0 {
		text += "/" + app.Status_Substate(w.Condition.Substate).String()
	}
	return text
}

var one = rollout.Scale{Min: 1, Max: 1, Calm: 5 * time.Minute}

func TestARevisionReplacesTheOneBefore(t *testing.T) {
	w := newWorld(one).decide()
	require.Equal(t, "1:1 →0 PENDING", w.text())
	require.Equal(t, "1:1 →0 DEPLOYING/INITIALIZING", w.cluster(false).text())
	require.Equal(t, "1:1 →1 ACTIVE/RUNNING", w.cluster(true).text())
	require.Equal(t, "1:1 2:1 →1 PENDING", w.revise(one).text())
	require.Equal(t, "1:1 2:1 →2 ACTIVE/RUNNING", w.cluster(true).text(), "the old one drains")
	require.Equal(t, "2:1 →2 ACTIVE/RUNNING", w.after(limits.Drain).text())
}

func TestAFailedRevisionLeavesTheOneBefore(t *testing.T) {
	w := newWorld(one).decide().cluster(true).revise(one)
	w.cluster(false).in.Observed = map[uint64]rollout.Observed{
		1: {Replicas: 1, Ready: 1}, 2: {Replicas: 1, Problem: &rollout.Problem{Substate: 4, Message: "no such image", Permanent: true}},
	}
	require.Equal(t, "1:1 →1 FAILED/IMAGE_PULL_ERROR", w.decide().text())
	require.Contains(t, w.Condition.Message, "revision 2 failed: no such image; revision 1 still serves")
	require.Equal(t, "1:1 →1 FAILED/IMAGE_PULL_ERROR", w.cluster(true).text())
	require.Equal(t, "1:1 3:1 →1 PENDING", w.revise(one).text())
	w.cluster(false).in.Observed[1] = rollout.Observed{Replicas: 1, Ready: 1}
	require.Equal(t, "1:1 3:1 →1 DEPLOYING/INITIALIZING", w.decide().text())
	require.Equal(t, "1:1 →1 FAILED", w.after(limits.Start).text(), "it took too long")
}

func TestAFirstRevisionThatFailsHealsByItself(t *testing.T) {
	w := newWorld(one).decide().cluster(false).after(limits.Start)
	require.Equal(t, "1:1 →0 FAILED", w.text())
	require.Equal(t, "1:1 →1 ACTIVE/RUNNING", w.cluster(true).text())
}

func TestAProblemOfAnEarlierStartDoesNotCount(t *testing.T) {
	w := newWorld(one).decide()
	w.in.Applied = w.in.Version
	w.in.Observed[1] = rollout.Observed{Replicas: 1, Problem: &rollout.Problem{Message: "no such secret", Permanent: true}}
	require.Equal(t, "1:1 →0 FAILED", w.decide().text())
	w.in.Stopped = true
	require.Equal(t, "→0 DEPLOYING/SCALING_DOWN", w.decide().text())
	w.in.Stopped = false
	require.Equal(t, "1:1 →0 DEPLOYING/INITIALIZING", w.decide().text(), "the report is of before")
	w.in.Applied = w.in.Version
	require.Equal(t, "1:1 →0 FAILED", w.decide().text())
}

func TestStopAndStart(t *testing.T) {
	w := newWorld(one).decide().cluster(true)
	w.in.Stopped = true
	require.Equal(t, "→0 DEPLOYING/SCALING_DOWN", w.decide().text())
	require.Equal(t, "→0 STOPPED", w.cluster(true).text(), "its replicas are gone")
	w.in.Stopped = false
	require.Equal(t, "1:1 →1 DEPLOYING/INITIALIZING", w.decide().text())
	require.Equal(t, "1:1 →1 ACTIVE/RUNNING", w.cluster(true).text())
	w.in.Stopped = true
	require.Equal(t, "→0 STOPPED", w.decide().after(limits.Stop).text(), "nobody reports that they are gone")
}

func TestSleepAndWake(t *testing.T) {
	w := newWorld(rollout.Scale{Max: 1, Calm: 5 * time.Minute}).decide().cluster(true)
	require.Equal(t, "1:1 →1 ACTIVE/RUNNING", w.text(), "it proves that it works")
	require.Equal(t, noon.Add(5*time.Minute), w.NextAt)
	require.Equal(t, "1:1 →1 ACTIVE/RUNNING", w.after(4*time.Minute).load(rollout.Load{Busy: true}).text())
	require.Equal(t, "1:1 →1 ACTIVE/RUNNING", w.after(2*time.Minute).load(rollout.Load{}).text(), "there was a request")
	require.Equal(t, "1:1 →1 ACTIVE/RUNNING", w.after(3*time.Minute).load(rollout.Load{BusyAt: w.in.Now.Add(-time.Second)}).text(), "and another one")
	require.Equal(t, "1:0 →1 ACTIVE/SCALED_TO_ZERO", w.after(5*time.Minute).load(rollout.Load{}).text())
	require.Equal(t, "1:0 →1 ACTIVE/SCALED_TO_ZERO", w.cluster(true).text())
	require.True(t, w.NextAt.IsZero(), "an app that sleeps costs nothing")
	w.in.Wake = true
	require.Equal(t, "1:1 →1 ACTIVE/SCALING_FROM_ZERO", w.decide().text())
	w.in.Wake = true
	require.Equal(t, "1:1 →1 ACTIVE/SCALING_FROM_ZERO", w.decide().text())
	require.Equal(t, "1:1 →1 ACTIVE/RUNNING", w.cluster(true).text())
}

func TestScaling(t *testing.T) {
	w := newWorld(rollout.Scale{Min: 1, Max: 5, Concurrency: 10, Calm: time.Minute}).decide().cluster(true)
	require.Equal(t, "1:3 →1 ACTIVE/SCALING_UP", w.load(rollout.Load{Busy: true, Concurrency: 21}).text())
	require.Equal(t, "1:5 →1 ACTIVE/SCALING_UP", w.load(rollout.Load{Busy: true, Concurrency: 1e12}).text())
	w.cluster(true)
	require.Equal(t, "1:5 →1 ACTIVE/RUNNING", w.after(30*time.Second).load(rollout.Load{Busy: true, Concurrency: 35}).text())
	require.Equal(t, "1:5 →1 ACTIVE/RUNNING", w.after(29*time.Second).load(rollout.Load{}).text(), "not calm for long enough")
	require.Equal(t, "1:4 →1 ACTIVE/RUNNING", w.after(time.Second).load(rollout.Load{}).text(), "what was needed during the calm")
	require.Equal(t, "1:1 →1 ACTIVE/RUNNING", w.after(time.Minute).load(rollout.Load{}).text())
	require.Equal(t, "1:5 →1 ACTIVE/RUNNING", w.load(rollout.Load{Busy: true, Concurrency: math.NaN()}).text(), "not a panic")
}

// TestOnOneNetworkRevisionsTakeTurns is the demo, with an app that has its port in its arguments.
func TestOnOneNetworkRevisionsTakeTurns(t *testing.T) {
	w := newWorld(rollout.Scale{Min: 2, Max: 3, Calm: time.Minute})
	w.in.Shared = true
	require.Equal(t, "1:1 →1 ACTIVE/RUNNING", w.decide().cluster(true).text(), "there is one port")
	require.Equal(t, "1:0 2:0 →0 PENDING", w.revise(one).text(), "the old one is still there")
	require.Equal(t, "1:0 2:1 →0 DEPLOYING/INITIALIZING", w.cluster(true).text())
	w.in.Observed[2] = rollout.Observed{Replicas: 1, Problem: &rollout.Problem{Message: "ends at once", Permanent: true}}
	require.Equal(t, "1:0 →1 FAILED", w.decide().text(), "the new one is still there")
	require.Equal(t, "1:1 →1 FAILED", w.cluster(true).text())

	w.in.Newest.TakesPort = true
	w.Serving.TakesPort = true
	require.Equal(t, "1:2 3:2 →1 PENDING", w.revise(rollout.Scale{Min: 2, Max: 3, Calm: time.Minute}).text(), "each replica has a port of its own")
}

func TestASilentClusterIsNoFailureOfTheApp(t *testing.T) {
	w := newWorld(one)
	w.in.Silence = "nobody is there"
	require.Equal(t, "1:1 →0 PENDING", w.decide().after(time.Hour).text())
	require.Contains(t, w.Condition.Message, "nobody is there")
	w.in.Silence = ""
	require.Equal(t, "1:1 →0 DEPLOYING/INITIALIZING", w.cluster(false).text())
	require.Equal(t, "1:1 →0 DEPLOYING/INITIALIZING", w.after(9*time.Minute).text())
	require.Equal(t, "1:1 →1 ACTIVE/RUNNING", w.cluster(true).text())
	w.in.Silence = "nobody is there"
	require.Equal(t, "1:1 →1 ACTIVE/RUNNING", w.after(time.Hour).text(), "what runs goes on to run")
	require.Contains(t, w.Condition.Message, "nobody is there")
}

// TestRollouts moves apps at random and checks what must always hold.
func TestRollouts(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		scale := rapid.Custom(func(t *rapid.T) rollout.Scale {
			least := rapid.Uint32Range(0, 4).Draw(t, "min")
			return rollout.Scale{
				Min: least, Max: max(1, least) + rapid.Uint32Range(0, 4).Draw(t, "more"), Concurrency: rapid.Uint32Range(0, 10).Draw(t, "target"),
				Calm: time.Duration(rapid.IntRange(0, 300).Draw(t, "calm")) * time.Second,
			}
		})
		scales := map[uint64]rollout.Scale{}
		w := newWorld(scale.Draw(t, "scale"))
		w.in.Shared, w.in.Newest.TakesPort = rapid.Bool().Draw(t, "shared"), rapid.Bool().Draw(t, "takes port")
		worked := map[uint64]bool{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			scales[w.in.Newest.Number] = w.in.Newest.Scale
			before := w.State
			switch rapid.SampledFrom([]string{"time", "back", "report", "fail", "update", "stop", "wake", "load", "silence"}).Draw(t, "step") {
			case "time":
				w.in.Now = w.in.Now.Add(time.Duration(rapid.IntRange(0, 700).Draw(t, "seconds")) * time.Second)
			case "back":
				w.in.Now = w.in.Now.Add(-time.Duration(rapid.IntRange(0, 700).Draw(t, "seconds")) * time.Second)
			case "report", "fail":
				w.in.Observed, w.in.Applied = map[uint64]rollout.Observed{}, w.in.Version
				for _, want := range w.Want {
					n := rapid.IntRange(0, int(want.Replicas)).Draw(t, "replicas")
					seen := rollout.Observed{Replicas: n, Ready: rapid.IntRange(0, n).Draw(t, "ready")}
					if seen.Ready == 0 && rapid.Bool().Draw(t, "problem") {
						seen.Problem = &rollout.Problem{Message: "it fails", Permanent: rapid.Bool().Draw(t, "permanent")}
					}
					w.in.Observed[want.Revision] = seen
				}
			case "update":
				w.in.Newest = rollout.Revision{Number: w.in.Newest.Number + 1, Scale: scale.Draw(t, "scale"), TakesPort: w.in.Newest.TakesPort}
				scales[w.in.Newest.Number] = w.in.Newest.Scale
			case "stop":
				w.in.Stopped = !w.in.Stopped
			case "wake":
				w.in.Wake = true
			case "load":
				w.in.Load = &rollout.Load{Busy: true, Concurrency: rapid.Float64Range(0, 60).Draw(t, "concurrency")}
			case "silence":
				w.in.Silence = map[bool]string{true: "nobody is there"}[w.in.Silence == ""]
			}
			in := w.in
			w.decide()
			if w.Serving.Number != 0 {
				worked[w.Serving.Number] = true
			}

			again := in
			again.Version, again.Wake, again.Load = w.in.Version, false, nil
			body, err := json.Marshal(w.State)
			require.NoError(t, err)
			twice, err := json.Marshal(rollout.Next(w.State, again))
			require.NoError(t, err)
			require.JSONEq(t, string(body), string(twice), "the same facts again change nothing")
			var read rollout.State
			require.NoError(t, json.Unmarshal(body, &read))
			require.Equal(t, string(body), string(must(json.Marshal(read))), "what is stored is what is read")

			if in.Stopped {
				require.Empty(t, w.Want)
				require.Zero(t, w.Route)
				continue
			}
			require.LessOrEqual(t, len(w.Want), 3)
			routed := slices.ContainsFunc(w.Want, func(want rollout.Want) bool { return want.Revision == w.Route })
			require.True(t, w.Route == 0 || routed, "what serves is among what runs")
			seen := map[uint64]bool{}
			replicas := uint32(0)
			for _, want := range w.Want {
				require.False(t, seen[want.Revision], "each revision once")
				seen[want.Revision] = true
				require.LessOrEqual(t, want.Replicas, scales[want.Revision].Max, "at most what revision %d allows", want.Revision)
				replicas += want.Replicas
			}
			if in.Shared && !in.Newest.TakesPort {
				require.LessOrEqual(t, replicas, uint32(1), "one port")
			} else if w.Serving.Number != 0 {
				require.GreaterOrEqual(t, w.Replicas, w.Serving.Scale.Min)
			}
			for revision, observed := range in.Observed {
				if observed.Ready > 0 && revision == in.Newest.Number {
					require.Equal(t, revision, w.Route, "a newest revision that is ready serves")
				}
			}
			if before.Route != 0 && w.Route != before.Route && (!in.Shared || in.Newest.TakesPort) {
				require.Positive(t, in.Observed[w.Route].Ready, "nothing takes the place of what serves before it is ready")
			}
			require.True(t, w.Route == 0 || worked[w.Route], "what serves has worked")
			if w.Condition.Status == int32(app.Status_DEPLOYMENT_STATUS_ACTIVE) {
				require.NotZero(t, w.Route, "an active app has a revision that serves")
			}
			if !before.Stopped && before.Serving.Number == w.Serving.Number && w.Replicas < before.Replicas && w.Replicas >= w.Serving.Scale.Min &&
				before.Serving.Scale == w.Serving.Scale && !in.Shared {
				require.GreaterOrEqual(t, in.Now.Sub(before.CalmSince), w.Serving.Scale.Calm, "fewer only after a time of calm")
			}
			if in.Wake && w.Serving.Number != 0 {
				require.Positive(t, w.Replicas, "a request wakes the app")
			}
		}
	})
}

func must(body []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return body
}
