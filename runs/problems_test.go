package runs_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/problems"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// logsOf answers with the frame of each action, as the log of a Python task has it. It refuses what FailureService refuses.
type logsOf map[string]*insightv1.StackFrame

// lateLogs are logs whose end is stored after they were read twice.
type lateLogs struct {
	logsOf
	reads atomic.Int32
}

func (l *lateLogs) ExplainFailure(ctx context.Context, r *insightv1.ExplainFailureRequest) (*insightv1.ExplainFailureResponse, error) {
	switch l.reads.Add(1) {
	case 1:
		return nil, connect.NewError(connect.CodeNotFound, errors.New("no log so far"))
	case 2:
		return &insightv1.ExplainFailureResponse{}, nil
	default:
		return l.logsOf.ExplainFailure(ctx, r)
	}
}

func (l logsOf) ExplainFailure(ctx context.Context, r *insightv1.ExplainFailureRequest) (*insightv1.ExplainFailureResponse, error) {
	if authz.IdentityFrom(ctx).Kind != authz.Service {
		return nil, connect.NewError(connect.CodeUnauthenticated, errors.New("a loop calls on behalf of no caller, so as a service"))
	}
	frame := l[r.GetActionId().GetName()]
	if frame == nil || r.GetActionId().GetRun().GetProject() == "" {
		return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("no log of %s", r.GetActionId()))
	}
	library := &insightv1.StackFrame{File: "/usr/lib/python3.11/site-packages/flyte/run.py", Function: "run"}
	return &insightv1.ExplainFailureResponse{Exceptions: []*insightv1.RaisedException{{
		Type: "KeyError", Frames: []*insightv1.StackFrame{library, frame, library},
	}}}, nil
}

func own(function string) *insightv1.StackFrame {
	return &insightv1.StackFrame{File: "churn.py", Function: function, Line: 7, Own: true}
}

func (c *writeFixture) endRun(run string, err *core.ExecutionError) {
	c.t.Helper()
	end := transition(run, "a0", 1, common.ActionPhase_ACTION_PHASE_SUCCEEDED)
	if err != nil {
		end = transition(run, "a0", 1, failed)
		end.Error = err
	}
	c.report(transition(run, "a0", 1, running), end)
}

func problemsFixture(t *testing.T, logs problems.Logs) *writeFixture {
	return writeFixtureWith(t, pgtest.New(t, store.Migrations()), func(c *runs.Config) {
		c.Problems.Every, c.Problems.Backoff = 20*time.Millisecond, backoff.Config{First: time.Millisecond, Max: time.Millisecond}
	}, func(d *runs.Deps) {
		if logs != nil {
			d.Peers.Failures = logs
		}
	})
}

func TestALogThatIsStoredLateIsReadAgain(t *testing.T) {
	c := problemsFixture(t, &lateLogs{logsOf: logsOf{"a": own("load")}})
	c.create(namedRun("r1"))
	c.fails("r1", "a", executionError("KeyError", "no such region"))
	require.Equal(t, []string{"KeyError no such region load: 1 in 1"}, c.listed(&insightv1.ListProblemsRequest{}))
}

func here() *common.ProjectIdentifier {
	return &common.ProjectIdentifier{Name: "flytesnacks", Domain: "development"}
}

// listed waits until no failure waits to be counted and no log to be read, and returns the problems in an order.
func (c *writeFixture) listed(r *insightv1.ListProblemsRequest) []string {
	c.t.Helper()
	require.Eventually(c.t, func() bool {
		var waiting int
		require.NoError(c.t, c.pool.QueryRow(c.t.Context(), `
			SELECT (SELECT count(*) FROM uncounted_failures) + (SELECT count(*) FROM problem_signs WHERE next_at IS NOT NULL)`).Scan(&waiting))
		return waiting == 0
	}, time.Minute, 5*time.Millisecond)
	r.ProjectId = here()
	var all []string
	for {
		answer, err := c.problems.ListProblems(c.t.Context(), r)
		require.NoError(c.t, err)
		for _, p := range answer.GetProblems() {
			all = append(all, fmt.Sprintf("%s %s %s: %d in %d", p.GetCode(), p.GetMessage(), p.GetFunction(), p.GetFailures(), p.GetRuns()))
		}
		if r.Token = answer.GetToken(); r.Token == "" {
			return all
		}
	}
}

// TestProblems: failures of two runs are grouped without what varies, and those of parents are left to their children.
func TestProblems(t *testing.T) {
	c := problemsFixture(t, nil)
	for i, run := range []string{"r1", "r2"} {
		c.create(namedRun(run))
		for shard := range 3 + i {
			c.fails(run, fmt.Sprintf("shard%d", shard), executionError("KeyError", fmt.Sprintf("'region%d'", shard)))
		}
		c.endRun(run, executionError("KeyError", "'region0'"))
	}
	c.create(namedRun("r3"))
	c.fails("r3", "bad", executionError("ValueError", "row 3 is bad\nand more"))
	c.endRun("r3", executionError("RuntimeError", "gave up: row 3 is bad"))
	c.create(namedRun("good"))
	c.endRun("good", nil)

	require.Equal(t, []string{
		"RuntimeError gave up: row 3 is bad : 1 in 1", "ValueError row 3 is bad : 1 in 1", "KeyError 'region3' : 7 in 2",
	}, c.listed(&insightv1.ListProblemsRequest{Limit: 1}), "the latest first, page by page")
	require.Equal(t, "KeyError 'region3' : 7 in 2", c.listed(&insightv1.ListProblemsRequest{Order: insightv1.ProblemOrder_PROBLEM_ORDER_FAILURES})[0])
	require.Len(t, c.listed(&insightv1.ListProblemsRequest{Task: "env.child"}), 2)
	require.Empty(t, c.listed(&insightv1.ListProblemsRequest{SeenSince: timestamppb.New(time.Now().Add(time.Hour))}))

	failure, err := c.problems.GetFailure(t.Context(), &insightv1.GetFailureRequest{ActionId: actionID("r2", "a0")})
	require.NoError(t, err)
	require.Len(t, failure.GetCausedBy(), 1)
	require.Equal(t, []string{"shard0", "env.child"}, []string{failure.GetCausedBy()[0].GetActionId().GetName(), failure.GetCausedBy()[0].GetTask()})
	require.Equal(t, []uint64{7, 2}, []uint64{failure.GetProblem().GetFailures(), failure.GetProblem().GetRuns()})
	require.Equal(t, "good", failure.GetLastSuccess().GetRunId().GetName())
	require.Equal(t, "shard3", failure.GetProblem().GetLatest().GetName())

	one, err := c.problems.GetProblem(t.Context(), &insightv1.GetProblemRequest{ProjectId: here(), Id: failure.GetProblem().GetId()})
	require.NoError(t, err)
	require.Len(t, one.GetLatest(), 7)
	require.Equal(t, []string{"r2", "shard3", "env.child"}, []string{
		one.GetLatest()[0].GetActionId().GetRun().GetName(), one.GetLatest()[0].GetActionId().GetName(), one.GetLatest()[0].GetTask(),
	})
	lines, err := c.problems.ListRunErrors(t.Context(), &insightv1.ListRunErrorsRequest{ProjectId: here(), Runs: []string{"r1", "r3", "good", "none"}})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"r1": "KeyError: 'region0'", "r3": "RuntimeError: gave up: row 3 is bad"}, lines.GetErrors())
	own, err := c.problems.GetFailure(t.Context(), &insightv1.GetFailureRequest{ActionId: actionID("r3", "a0")})
	require.NoError(t, err)
	require.Empty(t, own.GetCausedBy(), "another exception is a failure of its own")
	fine, err := c.problems.GetFailure(t.Context(), &insightv1.GetFailureRequest{ActionId: actionID("good", "a0")})
	require.NoError(t, err)
	require.Nil(t, fine.GetProblem())
}

func TestProblemsThatDoNotExist(t *testing.T) {
	c := problemsFixture(t, nil)
	_, err := c.problems.GetFailure(t.Context(), &insightv1.GetFailureRequest{ActionId: actionID("none", "a0")})
	refused(t, err, connect.CodeNotFound, "none")
	_, err = c.problems.GetProblem(t.Context(), &insightv1.GetProblemRequest{ProjectId: here(), Id: 1})
	refused(t, err, connect.CodeNotFound, "problem 1")
	_, err = c.problems.ListProblems(t.Context(), &insightv1.ListProblemsRequest{ProjectId: &common.ProjectIdentifier{Name: "flytesnacks"}})
	refused(t, err, connect.CodeInvalidArgument, "domain")
	_, err = c.problems.ListProblems(t.Context(), &insightv1.ListProblemsRequest{ProjectId: here(), Order: 9})
	refused(t, err, connect.CodeInvalidArgument, "order")
	_, err = c.problems.ListProblems(t.Context(), &insightv1.ListProblemsRequest{ProjectId: here(), Token: "x"})
	refused(t, err, connect.CodeInvalidArgument, "token")
}

// TestProblemsByFrame: different messages of one exception at one place of the code are one problem, others are not.
func TestProblemsByFrame(t *testing.T) {
	c := problemsFixture(t, logsOf{"a": own("load"), "b": own("load"), "c": own("store")})
	c.create(namedRun("r1"))
	c.fails("r1", "a", executionError("KeyError", "no such region"))
	c.fails("r1", "b", executionError("KeyError", "no such country"))
	c.fails("r1", "c", executionError("KeyError", "no such planet"))
	c.fails("r1", "nolog", executionError("KeyError", "no such galaxy"))
	require.Equal(t, []string{
		"KeyError no such galaxy : 1 in 1", "KeyError no such planet store: 1 in 1", "KeyError no such country load: 2 in 1",
	}, c.listed(&insightv1.ListProblemsRequest{}))

	c.create(namedRun("r2"))
	c.fails("r2", "again", executionError("KeyError", "no such region"))
	require.Equal(t, "KeyError no such region load: 3 in 2", c.listed(&insightv1.ListProblemsRequest{})[0], "what is known is counted without its log")
}

// TestProblemsOfDeletedRuns: a problem goes with its last failure.
func TestProblemsOfDeletedRuns(t *testing.T) {
	c := problemsFixture(t, nil)
	c.create(namedRun("r1"))
	c.fails("r1", "a", executionError("KeyError", "'x'"))
	require.Len(t, c.listed(&insightv1.ListProblemsRequest{}), 1)
	_, err := c.pool.Exec(t.Context(), `DELETE FROM actions`)
	require.NoError(t, err)
	again := writeFixtureOn(t, c.pool, func(c *runs.Config) { c.Problems.Every = 20 * time.Millisecond })
	require.NoError(t, c.service.Stop(t.Context())) // the other one has the lease now, and sweeps
	require.Eventually(t, func() bool { return len(again.listed(&insightv1.ListProblemsRequest{})) == 0 }, time.Minute, 10*time.Millisecond)
}
