package runs_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/cost"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/rollups"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

func rollupsFixture(t *testing.T, prices ...cost.Price) *writeFixture {
	return rollupsFixtureOn(t, pgtest.New(t, store.Migrations()), prices...)
}

func rollupsFixtureOn(t *testing.T, pool *pgxpool.Pool, prices ...cost.Price) *writeFixture {
	return writeFixtureWith(t, pool, func(c *runs.Config) {
		c.Rollups.Every, c.Rollups.Grace, c.Cost.Prices = 10*time.Millisecond, 0, prices
	}, func(*runs.Deps) {})
}

// counted waits until nothing waits to be counted.
func (c *writeFixture) counted() {
	c.t.Helper()
	require.Eventually(c.t, func() bool { return c.count(`SELECT count(*) FROM uncounted_ends`) == 0 }, time.Minute, 5*time.Millisecond)
}

// healths are the tasks in an order, page by page.
func (c *writeFixture) healths(r *insightv1.ListTaskHealthRequest) (all []*insightv1.TaskHealth) {
	c.t.Helper()
	r.ProjectId = here()
	for {
		answer, err := c.health.ListTaskHealth(c.t.Context(), r)
		require.NoError(c.t, err)
		all = append(all, answer.GetTasks()...)
		if r.Token = answer.GetToken(); r.Token == "" {
			return all
		}
	}
}

// TestHealthAgreesWithTheActions: what is counted says of each task what the actions themselves say, whatever they are.
func TestHealthAgreesWithTheActions(t *testing.T) {
	c := rollupsFixture(t)
	random := rand.New(rand.NewPCG(7, 7))
	now := time.Now().UTC().Truncate(time.Microsecond)
	phases := []int16{5, 5, 5, 5, 6, 7, 8, 10}
	var ids []int64
	for i := range 600 {
		began := now.Add(-time.Duration(random.Int64N(int64(16 * 24 * time.Hour))))
		ended := began.Add(time.Duration(math.Exp(random.NormFloat64()*3+5)) * time.Millisecond)
		row := schema.Root{Action: schema.Action{
			ID: int64(i + 1), RunID: int64(i + 1), Project: "flytesnacks", Domain: "development", RunName: fmt.Sprintf("run%d", i), Name: "a0",
			ActionType: 1, Phase: phases[random.IntN(len(phases))], TaskProject: "flytesnacks", TaskDomain: "development",
			TaskName: fmt.Sprintf("env.t%d", random.IntN(4)), CreatedAt: began, StartedAt: &began, EndedAt: &ended,
		}}
		if random.IntN(4) == 0 && row.Phase == 5 {
			row.CacheStatus = int16(core.CatalogCacheStatus_CACHE_HIT)
		} else if random.IntN(4) == 0 {
			row.CacheStatus, row.CacheReason = int16(core.CatalogCacheStatus_CACHE_POPULATED), "the cache has no entry for this key"
		}
		require.NoError(t, storetest.Insert(t.Context(), c.pool, row))
		ids = append(ids, row.ID)
	}
	for len(ids) > 0 { // in several batches, in no order
		n := min(len(ids), 1+random.IntN(200))
		_, err := c.pool.Exec(t.Context(), `INSERT INTO uncounted_ends SELECT unnest($1::bigint[])`, ids[:n])
		require.NoError(t, err)
		c.counted()
		ids = ids[n:]
	}
	today := now.Truncate(24 * time.Hour)
	for _, h := range c.healths(&insightv1.ListTaskHealthRequest{Order: insightv1.TaskHealthOrder_TASK_HEALTH_ORDER_NAME, Ascending: true, Limit: 3}) {
		// The history of the task over the same days is read from the actions.
		history, err := c.insight.GetTaskHistory(t.Context(), &insightv1.GetTaskHistoryRequest{
			Project: "flytesnacks", Domain: "development", Name: h.GetName(), Since: timestamppb.New(today.AddDate(0, 0, -6)), Buckets: 1,
		})
		require.NoError(t, err)
		week := history.GetBuckets()[0]
		require.Equal(t, [3]uint32{week.GetSucceeded(), week.GetFailed(), week.GetAborted()}, [3]uint32{h.GetSucceeded(), h.GetFailed(), h.GetAborted()}, h.GetName())
		require.InEpsilon(t, week.GetP50().AsDuration().Seconds(), h.GetP50().AsDuration().Seconds(), 0.05)
		require.InEpsilon(t, week.GetP90().AsDuration().Seconds(), h.GetP90().AsDuration().Seconds(), 0.05)
		require.InDelta(t, float64(week.GetFailed())/float64(week.GetFailed()+week.GetSucceeded()), h.GetFailureRate(), 0.001)
		between := `FROM actions WHERE task_name = $1 AND ended_at >= $2::timestamptz - interval '7 days' AND ended_at < $2`
		require.EqualValues(t, c.count(`SELECT count(*) `+between, h.GetName(), today.AddDate(0, 0, -6)), h.GetEarlier())
		var before float64
		require.NoError(t, c.pool.QueryRow(t.Context(), `SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM ended_at - started_at)::float8)
			`+between+` AND phase = 5 AND cache_status <> 2`, h.GetName(), today.AddDate(0, 0, -6)).Scan(&before))
		require.InDelta(t, week.GetP50().AsDuration().Seconds()/before, 1+h.GetChangeP50(), 0.12*(1+h.GetChangeP50()))
		hits := c.count(`SELECT count(*) FROM actions WHERE task_name = $1 AND ended_at >= $2 AND cache_status = 2`, h.GetName(), today.AddDate(0, 0, -6))
		uses := c.count(`SELECT count(*) FROM actions WHERE task_name = $1 AND ended_at >= $2 AND cache_status <> 0`, h.GetName(), today.AddDate(0, 0, -6))
		require.InDelta(t, float64(hits)/float64(uses), h.GetHitRate(), 0.001)
		require.Len(t, h.GetOutcomes(), 30)
	}
	require.Len(t, c.healths(&insightv1.ListTaskHealthRequest{Limit: 3}), 4)
	for order := range insightv1.TaskHealthOrder_name {
		require.Len(t, c.healths(&insightv1.ListTaskHealthRequest{Order: insightv1.TaskHealthOrder(order), Limit: 3}), 4, "order %d", order)
	}
	require.Len(t, c.healths(&insightv1.ListTaskHealthRequest{Text: "V.T1"}), 1)
	slower := c.healths(&insightv1.ListTaskHealthRequest{Order: insightv1.TaskHealthOrder_TASK_HEALTH_ORDER_CHANGE_P50})
	for i := range slower[1:] {
		require.GreaterOrEqual(t, slower[i].GetChangeP50(), slower[i+1].GetChangeP50())
	}
}

// sized is a run whose root task requests two cores and a GiB.
func sized(name string) *task.TaskSpec {
	spec := taskSpec(name)
	spec.TaskTemplate.Target = &core.TaskTemplate_Container{Container: &core.Container{Image: "i", Resources: &core.Resources{Requests: []*core.Resources_ResourceEntry{
		{Name: core.Resources_CPU, Value: "2"}, {Name: core.Resources_MEMORY, Value: "1Gi"},
	}}}}
	return spec
}

// at is a transition that was observed some minutes ago.
func at(minutesAgo int, one *enginev1.Transition) *enginev1.Transition {
	one.Event.UpdatedTime = timestamppb.New(time.Now().Add(-time.Duration(minutesAgo) * time.Minute))
	return one
}

const initializing = common.ActionPhase_ACTION_PHASE_INITIALIZING

// finishes runs the root action of a new run in two attempts, which have a machine for half an hour each.
func (c *writeFixture) finishes(run, label string, end common.ActionPhase) {
	c.t.Helper()
	c.begins(run, label)
	c.report(at(30, transition(run, "a0", 2, end)))
}

// begins runs it up to the second attempt.
func (c *writeFixture) begins(run, label string) {
	c.t.Helper()
	request := namedRun(run)
	request.Task = &workflow.CreateRunRequest_TaskSpec{TaskSpec: sized("main")}
	request.RunSpec = &task.RunSpec{Labels: &task.Labels{Values: map[string]string{"team": label}}}
	c.create(request)
	for _, statement := range []string{
		`UPDATE action_events SET recorded_at = recorded_at - interval '3 hours' WHERE run_id = (SELECT id FROM actions WHERE run_name = $1 AND parent_name IS NULL)`,
		`UPDATE actions SET created_at = created_at - interval '3 hours' WHERE run_name = $1`,
	} {
		_, err := c.pool.Exec(c.t.Context(), statement, run)
		require.NoError(c.t, err)
	}
	c.report(at(150, transition(run, "a0", 1, initializing)), at(140, transition(run, "a0", 1, running)), at(120, transition(run, "a0", 1, failed)),
		at(100, transition(run, "a0", 2, queued)), at(60, transition(run, "a0", 2, initializing)), at(50, transition(run, "a0", 2, running)))
}

func (c *writeFixture) cost(r *insightv1.GetCostsRequest) *insightv1.GetCostsResponse {
	c.t.Helper()
	response, err := c.costs.GetCosts(c.t.Context(), r)
	require.NoError(c.t, err)
	return response
}

// TestCosts: what had two cores and a GiB for an hour costs so in all sums, whether it succeeded or not.
func TestCosts(t *testing.T) {
	c := rollupsFixture(t, cost.Price{Core: 7, Queue: "other"}, cost.Price{Core: 0.25, Memory: 0.1})
	c.finishes("r1", "a", succeeded)
	c.finishes("r2", "b", failed)
	c.finishes("r3", "b", succeeded)
	c.counted()
	const each = 2*0.25 + 0.1
	names := map[insightv1.CostGroup][]string{
		insightv1.CostGroup_COST_GROUP_TASK:  {"env.main 3"},
		insightv1.CostGroup_COST_GROUP_LABEL: {"team=b 2", "team=a 1"},
		insightv1.CostGroup_COST_GROUP_RUN:   {"r3 0", "r2 0", "r1 0"},
	}
	for group, want := range names {
		response := c.cost(&insightv1.GetCostsRequest{ProjectId: here(), Group: group, Days: 2})
		require.Equal(t, "USD", response.GetCurrency())
		require.Empty(t, response.GetMissingSetting())
		require.InDelta(t, 3*each, response.GetTotal().GetCost(), 0.01)
		require.InDelta(t, 6, response.GetTotal().GetCoreHours(), 0.05)
		require.InDelta(t, 3, response.GetTotal().GetGibHours(), 0.05)
		require.Len(t, response.GetDays(), 2)
		require.InDelta(t, 3*each, response.GetDays()[0].GetCost()+response.GetDays()[1].GetCost(), 0.01)
		require.Zero(t, response.GetBefore().GetCost())
		var got []string
		sum := 0.0
		for _, part := range response.GetParts() {
			got = append(got, fmt.Sprintf("%s %d", part.GetName(), part.GetActions()))
			sum += part.GetUse().GetCost()
		}
		require.ElementsMatch(t, want, got)
		require.InDelta(t, 3*each, sum, 0.01)
	}
	all := c.cost(&insightv1.GetCostsRequest{Days: 2})
	require.Len(t, all.GetParts(), 1)
	require.Equal(t, "flytesnacks", all.GetParts()[0].GetProjectId().GetName())

	today := rollups.Day(time.Now())
	sums, err := rollups.New(c.pool).SumDays(t.Context(), schema.Scope{}, today.AddDate(0, 0, -2), today)
	require.NoError(t, err)
	require.NotEmpty(t, sums)
	elsewhere := authz.WithScope(t.Context(), authz.Scope{Places: []authz.Place{{Project: "flytesnacks", Domain: "production"}}})
	sums, err = rollups.New(c.pool).SumDays(elsewhere, schema.Scope{}, today.AddDate(0, 0, -2), today)
	require.NoError(t, err)
	require.Empty(t, sums, "callers see the places that they may")

	run, err := c.costs.GetRunCost(t.Context(), &insightv1.GetRunCostRequest{RunId: runID("r3")})
	require.NoError(t, err)
	require.InDelta(t, each, run.GetUse().GetCost(), 0.01)
	require.InDelta(t, each, run.GetEarlier().GetCost(), 0.01)
	require.EqualValues(t, 1, run.GetEarlierRuns(), "the one that failed is no measure")
	tasks := c.healths(&insightv1.ListTaskHealthRequest{Order: insightv1.TaskHealthOrder_TASK_HEALTH_ORDER_COST})
	require.Len(t, tasks, 1)
	require.InDelta(t, 3*each, tasks[0].GetUse().GetCost(), 0.01)

	// Without prices there are hours, and the setting that gives money. What is stored is weighed again.
	require.NoError(t, c.service.Stop(t.Context()))
	free := rollupsFixtureOn(t, c.pool)
	require.Eventually(t, func() bool { return free.count(`SELECT count(*) FROM use_prices`) == 2 }, time.Minute, 5*time.Millisecond)
	require.Eventually(t, func() bool {
		return free.count(`SELECT count(*) FROM run_use WHERE prices < (SELECT max(id) FROM use_prices)`) == 0
	}, time.Minute, 5*time.Millisecond)
	require.Equal(t, 3, free.count(`SELECT count(*) FROM run_use WHERE weight BETWEEN 7100000 AND 7300000`), "two cores for an hour, in thousandths of a core for seconds")
	unpriced := free.cost(&insightv1.GetCostsRequest{ProjectId: here(), Group: insightv1.CostGroup_COST_GROUP_TASK, Days: 2})
	require.Empty(t, unpriced.GetCurrency())
	require.Equal(t, "runs.cost.prices", unpriced.GetMissingSetting())
	require.InDelta(t, 6, unpriced.GetTotal().GetCoreHours(), 0.05)
	require.Zero(t, unpriced.GetTotal().GetCost())
}

// TestCostsSayWhatWasUsed: of what was measured when the action ended, in all sums. What was not measured, and what arrives later, is on
// neither side.
func TestCostsSayWhatWasUsed(t *testing.T) {
	c := rollupsFixture(t)
	c.begins("r1", "a")
	c.measured(c.uid("r1"), 1, used(0, 900, 100<<20), used(600, 500, 256<<20))
	c.measured(c.uid("r1"), 2, used(0, 900, 512<<20), used(100, 1000, 100<<20))
	c.measured(c.uid("r1"), 2, used(300, 1000, 100<<20))
	c.report(at(30, transition("r1", "a0", 2, succeeded)))
	c.finishes("r2", "b", succeeded) // was not measured
	c.begins("r3", "b")
	c.measured(c.uid("r3"), 1, used(0, 900, 100<<20)) // one measurement is of no time
	c.measured(c.uid("r3"), 2, used(0, 900, 100<<20), used(300, 1000, 100<<20))
	_, err := c.pool.Exec(t.Context(), `UPDATE attempt_usage SET measured_ms = NULL WHERE attempt = 2 AND action_id = $1`, c.uid("r3")) // by an earlier version
	require.NoError(t, err)
	c.measured(c.uid("r3"), 2, used(600, 1000, 100<<20))
	c.report(at(30, transition("r3", "a0", 2, failed)))
	c.counted()
	c.measured(c.uid("r1"), 2, used(600, 1000, 900<<20)) // too late

	// Of two cores and a GiB: half a core and a quarter for ten minutes, a core and a half for five.
	is := func(use *insightv1.Use, what string) {
		t.Helper()
		m := use.GetMeasured()
		require.NotNil(t, m, what)
		require.InDelta(t, 2*15./60, m.GetRequestedCoreHours(), 1e-3, what)
		require.InDelta(t, (0.5*10+1*5)/60, m.GetUsedCoreHours(), 1e-3, what)
		require.InDelta(t, 15./60, m.GetRequestedGibHours(), 1e-3, what)
		require.InDelta(t, (0.25*10+0.5*5)/60, m.GetUsedGibHours(), 1e-3, what)
	}
	for group, want := range map[insightv1.CostGroup][]string{
		insightv1.CostGroup_COST_GROUP_UNSPECIFIED: {""},
		insightv1.CostGroup_COST_GROUP_TASK:        {"env.main"},
		insightv1.CostGroup_COST_GROUP_LABEL:       {"team=a"},
		insightv1.CostGroup_COST_GROUP_RUN:         {"r1"},
	} {
		request := &insightv1.GetCostsRequest{Group: group, Days: 2}
		if group != insightv1.CostGroup_COST_GROUP_UNSPECIFIED {
			request.ProjectId = here()
		}
		response := c.cost(request)
		is(response.GetTotal(), "total")
		require.InDelta(t, 6, response.GetTotal().GetCoreHours(), 0.05)
		require.Nil(t, response.GetBefore().GetMeasured())
		for _, day := range response.GetDays() { // the hour before midnight is of the day before
			if day.GetMeasured() != nil {
				is(day, "day")
			}
		}
		var measured []string
		for _, part := range response.GetParts() {
			if part.GetUse().GetMeasured() != nil {
				measured = append(measured, part.GetName())
				is(part.GetUse(), part.GetName())
			}
		}
		require.Equal(t, want, measured)
	}
	run, err := c.costs.GetRunCost(t.Context(), &insightv1.GetRunCostRequest{RunId: runID("r1")})
	require.NoError(t, err)
	is(run.GetUse(), "run")
}

// TestTheLastMeasurementsAreWaitedFor: what an executor sends of an attempt within the grace after its end counts. Nothing else waits.
func TestTheLastMeasurementsAreWaitedFor(t *testing.T) {
	c := writeFixtureWith(t, pgtest.New(t, store.Migrations()), func(c *runs.Config) {
		c.Rollups.Every, c.Rollups.Grace = 10*time.Millisecond, time.Hour
	}, func(*runs.Deps) {})
	c.begins("r1", "a")
	c.measured(c.uid("r1"), 1, used(0, 900, 100<<20))
	c.report(at(30, transition("r1", "a0", 2, succeeded)))
	c.begins("r2", "a")
	c.report(at(30, transition("r2", "a0", 2, succeeded)))
	_, err := c.pool.Exec(t.Context(), `UPDATE actions SET runner = $1 WHERE run_name = 'r2'`, schema.RunnerPool)
	require.NoError(t, err)
	waits := `SELECT count(*) FROM uncounted_ends WHERE action_id = $1`
	require.Eventually(t, func() bool { return c.count(waits, c.uid("r2")) == 0 }, time.Minute, 5*time.Millisecond)
	require.Equal(t, 1, c.count(waits, c.uid("r1")))
	c.measured(c.uid("r1"), 1, used(600, 500, 256<<20))
	_, err = c.pool.Exec(t.Context(), `UPDATE actions SET ended_at = ended_at - interval '1 hour' WHERE run_name = 'r1'`)
	require.NoError(t, err)
	c.counted()
	run, err := c.costs.GetRunCost(t.Context(), &insightv1.GetRunCostRequest{RunId: runID("r1")})
	require.NoError(t, err)
	require.InDelta(t, 0.5*10/60, run.GetUse().GetMeasured().GetUsedCoreHours(), 1e-3)
}

// TestGridAndActionsOfATask: a map task is a fraction, and its actions are listed from inside the runs of another task.
func TestGridAndActionsOfATask(t *testing.T) {
	c := rollupsFixture(t)
	for i, run := range []string{"r1", "r2"} {
		c.create(namedRun(run))
		for shard := range 3 {
			name := fmt.Sprintf("c%d", shard)
			c.child(run, "a0", name)
			switch {
			case i == 1 && shard == 2: // still runs
			case shard == 1:
				c.report(transition(run, name, 1, running), transition(run, name, 1, failed))
			default:
				c.report(transition(run, name, 1, running), transition(run, name, 1, succeeded))
			}
		}
	}
	c.report(transition("r1", "a0", 1, running), transition("r1", "a0", 1, failed))
	c.counted()
	grid, err := c.health.GetPipelineGrid(t.Context(), &insightv1.GetPipelineGridRequest{ProjectId: here(), Task: "env.main"})
	require.NoError(t, err)
	require.Equal(t, []string{"r1", "r2"}, []string{grid.GetRuns()[0].GetName(), grid.GetRuns()[1].GetName()})
	require.Equal(t, "env.main", grid.GetTasks()[0].GetName())
	cell := func(run int) string {
		c := grid.GetTasks()[1].GetCells()[run]
		return fmt.Sprintf("%d: %d good, %d failed, %d unfinished, %s", c.GetActions(), c.GetSucceeded(), c.GetFailed(), c.GetUnfinished(), c.GetAction())
	}
	require.Equal(t, "3: 2 good, 1 failed, 0 unfinished, c1", cell(0))
	require.Equal(t, "3: 1 good, 1 failed, 1 unfinished, c1", cell(1))

	listed := func(r *insightv1.ListTaskActionsRequest) (names []string) {
		r.ProjectId, r.Task = here(), "env.child"
		for {
			page, err := c.health.ListTaskActions(t.Context(), r)
			require.NoError(t, err)
			for _, a := range page.GetActions() {
				require.Equal(t, "env.main", a.GetRootTask())
				names = append(names, a.GetActionId().GetRun().GetName()+"/"+a.GetActionId().GetName())
			}
			if r.Token = page.GetToken(); r.Token == "" {
				return names
			}
		}
	}
	require.Equal(t, []string{"r2/c1", "r2/c0", "r1/c2", "r1/c1", "r1/c0"}, listed(&insightv1.ListTaskActionsRequest{Limit: 2}))
	require.Equal(t, []string{"r2/c1", "r1/c1"}, listed(&insightv1.ListTaskActionsRequest{Limit: 1, Phases: []common.ActionPhase{failed}}))
	require.Empty(t, listed(&insightv1.ListTaskActionsRequest{Version: "none"}))
	_, err = c.health.ListTaskActions(t.Context(), &insightv1.ListTaskActionsRequest{ProjectId: here(), Task: "env.child", Token: "?"})
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err))
	require.ErrorContains(t, err, "token")
}

// TestRequestsOverManyRunsAreChecked: each bad request names the field.
func TestRequestsOverManyRunsAreChecked(t *testing.T) {
	c := rollupsFixture(t)
	refused := func(err error, field string) {
		t.Helper()
		require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err))
		require.ErrorContains(t, err, field)
	}
	_, err := c.health.ListTaskHealth(t.Context(), &insightv1.ListTaskHealthRequest{ProjectId: here(), Order: 99})
	refused(err, "order")
	_, err = c.health.ListTaskHealth(t.Context(), &insightv1.ListTaskHealthRequest{ProjectId: here(), Token: "x"})
	refused(err, "token")
	_, err = c.costs.GetCosts(t.Context(), &insightv1.GetCostsRequest{ProjectId: here()})
	refused(err, "group")
	_, err = c.costs.GetCosts(t.Context(), &insightv1.GetCostsRequest{Group: insightv1.CostGroup_COST_GROUP_TASK})
	refused(err, "group")
	_, err = c.costs.GetCosts(t.Context(), &insightv1.GetCostsRequest{ProjectId: &common.ProjectIdentifier{Name: "p"}, Group: insightv1.CostGroup_COST_GROUP_TASK})
	refused(err, "project_id.domain")
	_, err = c.caches.EvictCacheEntries(t.Context(), &insightv1.EvictCacheEntriesRequest{ProjectId: here(), Task: "t", ActionId: &common.ActionIdentifier{
		Run: &common.RunIdentifier{Project: "other", Domain: "development", Name: "r"}, Name: "a0",
	}})
	refused(err, "action_id.run")
	_, err = c.costs.GetRunCost(t.Context(), &insightv1.GetRunCostRequest{RunId: runID("none")})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
}
