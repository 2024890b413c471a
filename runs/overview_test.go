package runs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// past inserts actions of task env.train; ids count up.
type past struct {
	r  *readFixture
	t  *testing.T
	id int64
}

func (p *past) add(ago time.Duration, phase int16, change func(*schema.Root)) {
	p.t.Helper()
	p.id++
	created := p.r.clock.Now().Add(-ago)
	row := schema.Root{Action: schema.Action{
		ID: p.id, RunID: p.id, Project: "flytesnacks", Domain: "development", RunName: fmt.Sprintf("run%d", p.id), Name: "a0",
		ActionType: 1, Phase: phase, TaskProject: "flytesnacks", TaskDomain: "development", TaskName: "env.train", TaskVersion: "v1",
		ShortName: "train", CreatedAt: created,
	}}
	if ended := created; phase >= 5 && phase != 9 {
		row.EndedAt = &ended
	}
	if change != nil {
		change(&row)
	}
	require.NoError(p.t, storetest.Insert(p.t.Context(), p.r.pool, row))
}

// ran makes an action run for this long, up to the end that it has.
func ran(d time.Duration) func(*schema.Root) {
	return func(r *schema.Root) {
		began := r.EndedAt.Add(-d)
		r.StartedAt, r.CreatedAt = &began, began
	}
}

func TestGetTaskHistory(t *testing.T) {
	p := &past{r: newReadFixture(t, nil), t: t}
	now := p.r.clock.Now()
	for i := range 10 {
		p.add(30*time.Minute, 5, ran(time.Duration(i+1)*time.Second))
	}
	p.add(30*time.Minute, 6, ran(time.Hour))
	p.add(30*time.Minute, 8, nil)
	p.add(30*time.Minute, 7, nil)
	p.add(30*time.Minute, 10, nil)
	p.add(30*time.Minute, 5, func(r *schema.Root) { r.CacheStatus = 2 })
	p.add(90*time.Minute, 5, func(r *schema.Root) { r.TaskVersion = "v2"; ran(time.Minute)(r) })
	p.add(90*time.Minute, 5, func(r *schema.Root) { r.StartedAt = new(time.Time); *r.StartedAt = r.EndedAt.Add(time.Hour) }) // a clock jumped
	p.add(5*time.Hour, 5, ran(time.Second))                                                                                  // too long ago
	p.add(time.Minute, 4, nil)                                                                                               // has not ended
	p.add(time.Minute, 5, func(r *schema.Root) { r.ActionType = 2 })                                                         // a trace of that name
	p.add(time.Minute, 5, func(r *schema.Root) { r.TaskName = "env.train2" })
	p.add(-time.Minute, 5, ran(2*time.Minute)) // by a clock that is ahead

	ask := func(change func(*insightv1.GetTaskHistoryRequest)) []*insightv1.HistoryBucket {
		request := &insightv1.GetTaskHistoryRequest{
			Project: "flytesnacks", Domain: "development", Name: "env.train", Since: timestamppb.New(now.Add(-4 * time.Hour)), Buckets: 4,
		}
		change(request)
		response, err := p.r.insight.GetTaskHistory(t.Context(), request)
		require.NoError(t, err)
		return response.GetBuckets()
	}
	buckets := ask(func(*insightv1.GetTaskHistoryRequest) {})
	require.Len(t, buckets, 4)
	for i, bucket := range buckets {
		require.Equal(t, now.Add(time.Duration(i-4)*time.Hour), bucket.GetFrom().AsTime())
	}
	require.Zero(t, buckets[0].GetSucceeded()+buckets[1].GetSucceeded())
	require.Nil(t, buckets[1].GetP50())
	require.EqualValues(t, 2, buckets[2].GetSucceeded())
	require.Zero(t, buckets[2].GetP50().AsDuration())
	require.Equal(t, time.Minute, buckets[2].GetP90().AsDuration())
	last := buckets[3]
	require.Equal(t, []uint32{13, 2, 1, 1}, []uint32{last.GetSucceeded(), last.GetFailed(), last.GetAborted(), last.GetCached()})
	require.Equal(t, 6*time.Second, last.GetP50().AsDuration())
	require.Equal(t, 10*time.Second, last.GetP90().AsDuration())

	buckets = ask(func(r *insightv1.GetTaskHistoryRequest) { r.Version = "v2" })
	require.Equal(t, []uint32{0, 0, 1, 0}, []uint32{
		buckets[0].GetSucceeded(), buckets[1].GetSucceeded(), buckets[2].GetSucceeded(), buckets[3].GetSucceeded(),
	})
	buckets = ask(func(r *insightv1.GetTaskHistoryRequest) { r.Since, r.Buckets, r.Name = nil, 0, "none" })
	require.Len(t, buckets, 50)
	require.Equal(t, now.Add(-7*24*time.Hour), buckets[0].GetFrom().AsTime())

	for field, change := range map[string]func(*insightv1.GetTaskHistoryRequest){
		"buckets": func(r *insightv1.GetTaskHistoryRequest) { r.Buckets = 201 },
		"name":    func(r *insightv1.GetTaskHistoryRequest) { r.Name = "" },
		"project": func(r *insightv1.GetTaskHistoryRequest) { r.Project = "" },
		"since":   func(r *insightv1.GetTaskHistoryRequest) { r.Since = timestamppb.New(now.Add(time.Hour)) },
	} {
		request := &insightv1.GetTaskHistoryRequest{Project: "p", Domain: "d", Name: "n"}
		change(request)
		_, err := p.r.insight.GetTaskHistory(t.Context(), request)
		refused(t, err, connect.CodeInvalidArgument, field)
	}
}

func TestGetActivity(t *testing.T) {
	p := &past{r: newReadFixture(t, nil), t: t}
	now := p.r.clock.Now()
	response, err := p.r.insight.GetActivity(t.Context(), &insightv1.GetActivityRequest{})
	require.NoError(t, err)
	require.Empty(t, response.GetActivities())

	for _, phase := range []int16{5, 10, 6, 8, 7, 1, 4} {
		p.add(30*time.Minute, phase, nil)
	}
	p.add(90*time.Minute, 4, func(r *schema.Root) { r.PausedCount = 2 })
	p.add(10*time.Minute, 5, func(r *schema.Root) { r.ParentName, r.Name = new("a0"), "child" })
	p.add(30*time.Minute, 5, func(r *schema.Root) { r.Domain = "staging" })
	p.add(48*time.Hour, 4, func(r *schema.Root) { r.Project = "old" })
	p.add(48*time.Hour, 5, func(r *schema.Root) { r.Project = "gone" })
	response, err = p.r.insight.GetActivity(t.Context(), &insightv1.GetActivityRequest{Since: timestamppb.New(now.Add(-2 * time.Hour)), Buckets: 2})
	require.NoError(t, err)
	var places []string
	for _, activity := range response.GetActivities() {
		places = append(places, activity.GetProject()+"/"+activity.GetDomain())
		require.Len(t, activity.GetBuckets(), 2)
	}
	require.Equal(t, []string{"flytesnacks/development", "flytesnacks/staging", "old/development"}, places)
	busy := response.GetActivities()[0]
	require.Equal(t, []uint32{3, 1}, []uint32{busy.GetRunning(), busy.GetPaused()})
	require.Equal(t, now.Add(-30*time.Minute), busy.GetLastRunAt().AsTime())
	require.EqualValues(t, 1, busy.GetBuckets()[0].GetUnfinished())
	last := busy.GetBuckets()[1]
	require.Equal(t, []uint32{2, 2, 1, 2}, []uint32{last.GetSucceeded(), last.GetFailed(), last.GetAborted(), last.GetUnfinished()})
	old := response.GetActivities()[2]
	require.EqualValues(t, 1, old.GetRunning())
	require.Equal(t, now.Add(-48*time.Hour), old.GetLastRunAt().AsTime())

	response, err = p.r.insight.GetActivity(t.Context(), &insightv1.GetActivityRequest{})
	require.NoError(t, err)
	require.Len(t, response.GetActivities()[0].GetBuckets(), 24)
	_, err = p.r.insight.GetActivity(t.Context(), &insightv1.GetActivityRequest{Buckets: 101})
	refused(t, err, connect.CodeInvalidArgument, "buckets")
	_, err = p.r.insight.GetActivity(t.Context(), &insightv1.GetActivityRequest{Since: timestamppb.New(now)})
	refused(t, err, connect.CodeInvalidArgument, "since")
	_, err = p.r.insight.GetActivity(t.Context(), &insightv1.GetActivityRequest{Since: timestamppb.New(now.Add(-400 * 24 * time.Hour))})
	refused(t, err, connect.CodeInvalidArgument, "since")
}

func TestSearch(t *testing.T) {
	p := &past{r: newReadFixture(t, nil), t: t}
	named := func(name string, change func(*schema.Root)) func(*schema.Root) {
		return func(r *schema.Root) {
			r.RunName, r.TaskName, r.ShortName = name, "other.thing", "thing"
			if change != nil {
				change(r)
			}
		}
	}
	p.add(3*time.Hour, 5, named("nightly-train-2026", nil))
	p.add(2*time.Hour, 6, named("Trainee", nil))
	p.add(time.Hour, 4, named("rdxq7", func(r *schema.Root) { r.TaskName, r.ShortName = "env.train_model", "train_model" }))
	p.add(time.Hour, 5, named("constrain", nil))
	p.add(time.Hour, 5, named("100%sure", func(r *schema.Root) { r.Labels = map[string]string{"team": "Blue"} }))
	p.add(time.Hour, 5, named("nightly-train-child", func(r *schema.Root) { r.ParentName, r.Name = new("a0"), "child" }))
	_, err := p.r.pool.Exec(t.Context(), `INSERT INTO tasks (project, domain, name, version, is_latest, short_name, spec_digest, created_at, updated_at) VALUES
		('flytesnacks', 'development', 'env.train_model', 'v1', false, 'train_model', '', $1, $1),
		('flytesnacks', 'development', 'env.train_model', 'v2', true, 'train_model', '', $2, $2)`, p.r.clock.Now().Add(-5*time.Hour), p.r.clock.Now().Add(-4*time.Hour))
	require.NoError(t, err)
	_, err = p.r.pool.Exec(t.Context(), `INSERT INTO projects (id, name, state, created_at, updated_at) VALUES ('trains', 'All trains', 0, $1, $1), ('train-old', 'x', 1, $1, $1)`,
		p.r.clock.Now().Add(-6*time.Hour))
	require.NoError(t, err)

	search := func(query string, limit uint32) (found []string) {
		response, err := p.r.insight.Search(t.Context(), &insightv1.SearchRequest{Query: query, Limit: limit})
		require.NoError(t, err)
		for _, one := range response.GetFound() {
			require.True(t, one.GetCreatedAt().IsValid())
			found = append(found, one.GetKind()+" "+one.GetName())
		}
		return found
	}
	require.Equal(t, []string{"run rdxq7", "run Trainee", "run nightly-train-2026", "task env.train_model", "project trains"}, search("tRain", 0))
	require.Equal(t, []string{"run rdxq7", "task env.train_model", "project trains"}, search(" train ", 1))
	require.Equal(t, []string{"run nightly-train-2026"}, search("train-20", 0))
	require.Equal(t, []string{"run nightly-train-2026"}, search("2026", 0))
	require.Equal(t, []string{"run rdxq7", "task env.train_model"}, search("env.train", 0))
	require.Equal(t, []string{"run rdxq7", "task env.train_model"}, search("model", 0))
	require.Equal(t, []string{"run 100%sure"}, search("100%", 0))
	require.Equal(t, []string{"run 100%sure"}, search("team=Blue", 0))
	for _, nothing := range []string{"rain", "%", "_", "***", `\`, "' | x", "train & x", "team=", "=", "é", "(", "[^"} {
		require.Empty(t, search(nothing, 0), nothing)
	}
	response, err := p.r.insight.Search(t.Context(), &insightv1.SearchRequest{Query: "env.train"})
	require.NoError(t, err)
	run, task := response.GetFound()[0], response.GetFound()[1]
	require.Equal(t, []string{"flytesnacks", "development", "train_model"}, []string{run.GetProject(), run.GetDomain(), run.GetTitle()})
	require.EqualValues(t, 4, run.GetPhase())
	require.Equal(t, "train_model", task.GetTitle())
	require.Equal(t, p.r.clock.Now().Add(-4*time.Hour), task.GetCreatedAt().AsTime(), "of its latest version")

	for query, field := range map[string]string{"": "query", "  ": "query", strings.Repeat("x", 101): "query", "a\x00b": "query"} {
		_, err := p.r.insight.Search(t.Context(), &insightv1.SearchRequest{Query: query})
		refused(t, err, connect.CodeInvalidArgument, field)
	}
	_, err = p.r.insight.Search(t.Context(), &insightv1.SearchRequest{Query: "x", Limit: 51})
	refused(t, err, connect.CodeInvalidArgument, "limit")
}

// TestSearchFindsOldRuns searches for runs behind more runs than a search reads.
func TestSearchFindsOldRuns(t *testing.T) {
	p := &past{r: newReadFixture(t, nil), t: t}
	p.add(100*time.Hour, 5, func(r *schema.Root) { r.RunName, r.ShortName = "weekly-report", "x" })
	p.add(99*time.Hour, 5, func(r *schema.Root) { r.RunName, r.TaskName, r.ShortName = "abc", "old.task", "task" })
	_, err := p.r.pool.Exec(t.Context(), `INSERT INTO actions (id, run_id, project, domain, run_name, name, action_type, phase, created_at, updated_at, ended_at)
		SELECT 100 + n, 100 + n, 'flytesnacks', 'development', 'n' || n, 'a0', 1, 5, $1, $1, $1 FROM generate_series(1, 2500) n`, p.r.clock.Now())
	require.NoError(t, err)
	_, err = p.r.pool.Exec(t.Context(), `INSERT INTO tasks (project, domain, name, version, spec_digest, created_at, updated_at)
		VALUES ('flytesnacks', 'development', 'old.task', 'v1', '', $1, $1)`, p.r.clock.Now())
	require.NoError(t, err)
	for query, name := range map[string]string{"report": "weekly-report", "WEEKLY": "weekly-report", "old.t": "abc", "ab": "abc"} {
		response, err := p.r.insight.Search(t.Context(), &insightv1.SearchRequest{Query: query})
		require.NoError(t, err)
		var runs []string
		for _, one := range response.GetFound() {
			if one.GetKind() == "run" {
				runs = append(runs, one.GetName())
			}
		}
		require.Equal(t, []string{name}, runs, query)
	}
	response, err := p.r.insight.Search(t.Context(), &insightv1.SearchRequest{Query: "n", Limit: 3})
	require.NoError(t, err)
	require.Len(t, response.GetFound(), 3)
	require.Equal(t, "n2500", response.GetFound()[0].GetName(), "the newest, although there are more than the index offers")
}
