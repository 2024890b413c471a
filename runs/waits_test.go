package runs_test

import (
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// waiting are runs with one root and children, all of one age.
type waiting struct {
	*past
	seq int64
}

// run inserts a run with counts that are those of its rows.
func (w *waiting) run(name string, change func(*schema.Root), children ...func(*schema.Root)) {
	w.t.Helper()
	w.id++
	id, created := w.id, w.r.clock.Now().Add(-time.Minute)
	row := func(name string) schema.Root {
		return schema.Root{Action: schema.Action{
			ID: w.id, RunID: id, Project: "flytesnacks", Domain: "development", RunName: name, Name: "a0", ActionType: 1, Phase: 4,
			TaskName: "env.train", ShortName: "train", CreatedAt: created, StartedAt: &created, AdmittedAt: &created,
		}}
	}
	root := row(name)
	if change != nil {
		change(&root)
	}
	rows := []schema.Root{root}
	for i, child := range children {
		w.id++
		c := row(name)
		parent := "a0"
		c.Name, c.ParentName = string(rune('b'+i))+"0", &parent
		child(&c)
		rows = append(rows, c)
	}
	counts := make([]int32, schema.Phases)
	for _, r := range rows {
		counts[r.Phase]++
	}
	w.seq = 7
	rows[0].LastSeq, rows[0].CountedSeq, rows[0].PhaseCounts, rows[0].PausedCount = 7, &w.seq, counts, counts[9]
	require.NoError(w.t, storetest.Insert(w.t.Context(), w.r.pool, rows...))
}

func queuedIn(queue string) func(*schema.Root) {
	return func(r *schema.Root) { r.Phase, r.AdmittedAt, r.StartedAt, r.Queue = 1, nil, nil, queue }
}

func runningIn(queue string) func(*schema.Root) { return func(r *schema.Root) { r.Queue = queue } }

func waitsForPerson(r *schema.Root) {
	r.ActionType, r.Phase, r.AdmittedAt, r.TaskName = 3, 9, nil, "ship"
}

func newWaiting(t *testing.T) *waiting {
	return &waiting{past: &past{r: newReadFixture(t, func(c *runs.Config) {
		c.Queues = []queues.Queue{{Name: "gpu", MaxActions: 1}, {Name: "wide"}}
	}), t: t}}
}

func TestWhatRunsWaitFor(t *testing.T) {
	w := newWaiting(t)
	w.run("finetune-a", runningIn("gpu"))
	w.run("finetune-b", queuedIn("gpu"))
	w.run("release", nil, waitsForPerson)
	w.run("both", nil, waitsForPerson, runningIn("wide"))
	w.run("map", nil, queuedIn("gpu"), queuedIn("gpu"), func(r *schema.Root) { ended := r.CreatedAt; r.Phase, r.EndedAt = 5, &ended })
	w.run("own", func(r *schema.Root) { r.MaxConcurrency = 2 }, runningIn(""), runningIn(""), queuedIn(""))
	w.run("busy", nil, runningIn(""))
	w.run("at-cluster", func(r *schema.Root) { r.Phase, r.StartedAt = 2, nil })

	names := []string{"finetune-a", "finetune-b", "release", "both", "map", "own", "busy", "at-cluster"}
	answer, err := w.r.insight.SummarizeRuns(t.Context(), &insightv1.SummarizeRunsRequest{ProjectId: flytesnacks, Runs: names})
	require.NoError(t, err)
	said := map[string][]string{}
	for name, run := range answer.GetRuns() {
		for _, wait := range run.GetWaits() {
			words := wait.GetWait().GetCause().String()[len("WAIT_CAUSE_"):]
			for _, holder := range wait.GetHolders() {
				words += " behind " + holder.GetRunId().GetName()
			}
			said[name] = append(said[name], words)
		}
	}
	require.Equal(t, map[string][]string{
		"finetune-b": {"QUEUE_ACTIONS behind finetune-a"}, "release": {"SIGNAL"}, "both": {"SIGNAL"},
		"map": {"QUEUE_ACTIONS behind finetune-a"}, "own": {"RUN_CONCURRENCY"}, "at-cluster": {"CLUSTER"},
	}, said)
	for name, want := range map[string]bool{"finetune-a": false, "finetune-b": true, "release": true, "both": false, "map": true, "own": false, "busy": false, "at-cluster": true} {
		require.Equal(t, want, answer.GetRuns()[name].GetWaiting(), name)
	}
	require.EqualValues(t, 2, answer.GetRuns()["map"].GetWaits()[0].GetActions())
	require.Equal(t, "b0", answer.GetRuns()["map"].GetWaits()[0].GetActionId().GetName())

	// The short explanation names the limit that the explanation of one action does.
	for _, name := range []string{"finetune-b", "map"} {
		wait := answer.GetRuns()[name].GetWaits()[0]
		one, err := w.r.insight.ExplainAction(t.Context(), &insightv1.ExplainActionRequest{ActionId: wait.GetActionId()})
		require.NoError(t, err)
		require.Equal(t, one.GetWait().GetCause(), wait.GetWait().GetCause(), name)
		require.Equal(t, one.GetWait().GetLimit(), wait.GetWait().GetLimit(), name)
		require.Equal(t, one.GetWait().GetUsed(), wait.GetWait().GetUsed(), name)
	}
}

func TestListWaits(t *testing.T) {
	w := newWaiting(t)
	for _, name := range []string{"r1", "r2", "r3"} {
		w.run(name, nil, waitsForPerson)
	}
	w.run("busy", nil, runningIn(""))
	w.run("elsewhere", func(r *schema.Root) { r.Domain = "staging"; queuedIn("gpu")(r) })
	w.run("fresh", func(r *schema.Root) { queuedIn("gpu")(r); r.CreatedAt = w.r.clock.Now() })

	var found []string
	token := ""
	for range 10 {
		page, err := w.r.insight.ListWaits(t.Context(), &insightv1.ListWaitsRequest{Limit: 2, Token: token})
		require.NoError(t, err)
		for _, run := range page.GetRuns() {
			found = append(found, run.GetRunId().GetName())
			require.Equal(t, "train", run.GetTitle())
			require.True(t, run.GetWaiting())
		}
		if token = page.GetToken(); token == "" {
			break
		}
	}
	require.Equal(t, []string{"r1", "r2", "r3", "elsewhere"}, found)

	page, err := w.r.insight.ListWaits(t.Context(), &insightv1.ListWaitsRequest{Domain: "staging"})
	require.NoError(t, err)
	require.Len(t, page.GetRuns(), 1)

	for field, request := range map[string]*insightv1.ListWaitsRequest{"limit": {Limit: 101}, "token": {Token: "x"}} {
		_, err := w.r.insight.ListWaits(t.Context(), request)
		refused(t, err, connect.CodeInvalidArgument, field)
	}
}
