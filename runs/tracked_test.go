package runs_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

const trackedSource = workflow.RunSource_RUN_SOURCE_TRACKED

// trackedFixture is the running service with the tables of tracked runs.
type trackedFixture struct {
	t       *testing.T
	pool    *pgxpool.Pool
	own     *pgxpool.Pool // sees the tables of tracked runs
	blobs   *blobstore.Store
	tracked workflowconnect.TrackedRunServiceClient
	runs    workflowconnect.RunServiceClient
	insight insightv1connect.InsightServiceClient
	engine  enginev1connect.EngineServiceClient
	mux     *rpc.Mux
	now     time.Time
}

func newTrackedFixture(t *testing.T, changes ...func(*runs.Config)) *trackedFixture {
	t.Helper()
	return trackedFixtureOn(t, pgtest.Schemas(t, store.Schema(), store.TrackedSchema()), clock.System{}, changes...)
}

func trackedFixtureOn(t *testing.T, pool *pgxpool.Pool, clk clock.Clock, changes ...func(*runs.Config)) *trackedFixture {
	t.Helper()
	f := &trackedFixture{t: t, pool: pool, now: clk.Now().Add(-time.Minute)}
	tracked, err := pgdb.OpenNamespace(t.Context(), pool, store.TrackedNamespace, 4)
	require.NoError(t, err)
	t.Cleanup(tracked.Close)
	f.own = tracked
	blobs := blobstore.DefaultConfig()
	blobs.URL, blobs.PublicURL, blobs.Sync = t.TempDir(), "http://localhost", false
	f.blobs, err = blobstore.Open(t.Context(), blobs)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.blobs.Close()) })
	config := runs.DefaultConfig()
	config.Watch.Linger = 100 * time.Millisecond
	for _, change := range changes {
		change(&config)
	}
	service, err := runs.New(config, runs.Deps{Pool: pool, Tracked: tracked, Blobs: f.blobs, Clock: clk, Logger: zerolog.Nop()})
	require.NoError(t, err)
	require.NoError(t, service.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, service.Stop(context.WithoutCancel(t.Context()))) })
	f.mux = rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	service.Mount(f.mux)
	client := rpc.InProcess(f.mux)
	f.tracked = workflowconnect.NewTrackedRunServiceClient(client, rpc.InProcessURL)
	f.runs = workflowconnect.NewRunServiceClient(client, rpc.InProcessURL)
	f.insight = insightv1connect.NewInsightServiceClient(client, rpc.InProcessURL)
	f.engine = enginev1connect.NewEngineServiceClient(client, rpc.InProcessURL)
	return f
}

func (f *trackedFixture) request(name string) *workflow.CreateTrackedRunRequest {
	return &workflow.CreateTrackedRunRequest{
		Id:           &workflow.CreateTrackedRunRequest_RunId{RunId: runID(name)},
		Task:         &workflow.CreateTrackedRunRequest_TaskSpec{TaskSpec: taskSpec("main")},
		Labels:       map[string]string{"team": "a"},
		RunStartTime: timestamppb.New(f.now),
	}
}

func (f *trackedFixture) create(name string) *workflow.Run {
	f.t.Helper()
	response, err := f.tracked.CreateRun(f.t.Context(), f.request(name))
	require.NoError(f.t, err)
	return response.GetRun()
}

// update is a report a second after the one before.
func (f *trackedFixture) update(run, action string, attempt, version uint32, phase common.ActionPhase) *workflow.TrackedActionUpdate {
	f.now = f.now.Add(time.Second)
	return &workflow.TrackedActionUpdate{Event: &workflow.ActionEvent{
		Id: actionID(run, action), Attempt: attempt, Version: version, Phase: phase, UpdatedTime: timestamppb.New(f.now),
	}}
}

// first is the first report of a child.
func (f *trackedFixture) first(run, parent, action string, phase common.ActionPhase) *workflow.TrackedActionUpdate {
	u := f.update(run, action, 1, 0, phase)
	u.ParentName, u.Group = parent, "g"
	u.Spec = &workflow.TrackedActionUpdate_Task{Task: &workflow.TaskAction{Spec: taskSpec("child")}}
	return u
}

func (f *trackedFixture) send(run string, updates ...*workflow.TrackedActionUpdate) []connect.Code {
	f.t.Helper()
	response, err := f.tracked.ReportActions(f.t.Context(), &workflow.ReportTrackedActionsRequest{RunId: runID(run), Updates: updates})
	require.NoError(f.t, err)
	require.Len(f.t, response.GetStatuses(), len(updates))
	codes := make([]connect.Code, len(updates))
	for i, status := range response.GetStatuses() {
		codes[i] = connect.Code(status.GetCode())
	}
	return codes
}

// ok sends reports that must be accepted.
func (f *trackedFixture) ok(run string, updates ...*workflow.TrackedActionUpdate) {
	f.t.Helper()
	for i, code := range f.send(run, updates...) {
		require.Zero(f.t, code, "update %d", i)
	}
}

func (f *trackedFixture) details(run, action string) *workflow.ActionDetails {
	f.t.Helper()
	response, err := f.tracked.GetActionDetails(f.t.Context(), &workflow.GetActionDetailsRequest{ActionId: actionID(run, action)})
	require.NoError(f.t, err)
	return response.GetDetails()
}

func (f *trackedFixture) phase(run, action string) common.ActionPhase {
	f.t.Helper()
	return f.details(run, action).GetStatus().GetPhase()
}

func (f *trackedFixture) number(query string) (n int) {
	f.t.Helper()
	require.NoError(f.t, f.pool.QueryRow(f.t.Context(), query).Scan(&n))
	return n
}

func TestTrackedRun(t *testing.T) {
	f := newTrackedFixture(t)
	created := f.create("local-1")
	require.Equal(t, trackedSource, created.GetAction().GetMetadata().GetSource())
	base := f.blobs.Root() + "/uploads/flytesnacks/development/tracked-runs/local-1/"

	begin := f.first("local-1", "", "c", running)
	end := f.update("local-1", "c", 1, 1, succeeded)
	end.Event.Outputs = &task.OutputReferences{OutputUri: base + "c/1/outputs.pb", ReportUri: base + "c/1/report.html"}
	trace := f.first("local-1", "c", "t", running)
	trace.Spec = &workflow.TrackedActionUpdate_Trace{Trace: &workflow.TraceAction{Name: "step", Spec: &task.TraceSpec{}}}
	traced := f.update("local-1", "t", 1, 1, succeeded)
	traced.Event.Outputs = &task.OutputReferences{OutputUri: base + "t/1/outputs.pb"}
	f.ok("local-1", f.update("local-1", "a0", 1, 0, running), f.update("local-1", "a0", 1, 1, running), begin, trace)
	f.ok("local-1", traced, end)
	require.Equal(t, running, f.phase("local-1", "a0"))
	f.ok("local-1", f.update("local-1", "a0", 1, 2, succeeded))

	child := f.details("local-1", "c")
	require.Equal(t, "a0", child.GetMetadata().GetParent())
	require.Equal(t, "g", child.GetMetadata().GetGroup())
	require.Equal(t, "env.child", child.GetMetadata().GetTask().GetId().GetName())
	require.Equal(t, base+"c/1/outputs.pb", child.GetAttempts()[0].GetOutputs().GetOutputUri())
	require.Equal(t, base+"c/1/report.html", child.GetAttempts()[0].GetOutputs().GetReportUri())
	require.Equal(t, begin.GetEvent().GetUpdatedTime().AsTime().Truncate(time.Microsecond), child.GetStatus().GetStartTime().AsTime(), "times are the client's")
	require.Equal(t, base+"t/1/outputs.pb", f.details("local-1", "t").GetAttempts()[0].GetOutputs().GetOutputUri())
	storage, err := f.engine.GetActionStorage(t.Context(), &enginev1.GetActionStorageRequest{ActionId: actionID("local-1", "c"), RunSource: trackedSource})
	require.NoError(t, err)
	require.Equal(t, base+"c", storage.GetInputUri())
	require.Equal(t, base+"c/1/outputs.pb", storage.GetOutputUri())

	listed, err := f.tracked.ListRuns(t.Context(), &workflow.ListRunsRequest{ScopeBy: &workflow.ListRunsRequest_ProjectId{
		ProjectId: &common.ProjectIdentifier{Name: "flytesnacks", Domain: "development"},
	}})
	require.NoError(t, err)
	require.Len(t, listed.GetRuns(), 1)
	require.Equal(t, map[string]string{"team": "a"}, listed.GetRuns()[0].GetLabels())
	actions, err := f.tracked.ListActions(t.Context(), &workflow.ListActionsRequest{RunId: runID("local-1")})
	require.NoError(t, err)
	require.Len(t, actions.GetActions(), 3)
	run, err := f.tracked.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: runID("local-1")})
	require.NoError(t, err)
	require.Equal(t, succeeded, run.GetDetails().GetAction().GetStatus().GetPhase())
}

func TestWatchesOfTrackedRunsEnd(t *testing.T) {
	f := newTrackedFixture(t)
	f.create("local-1")
	f.ok("local-1", f.update("local-1", "a0", 1, 0, running))
	details, err := f.tracked.WatchRunDetails(t.Context(), &workflow.WatchRunDetailsRequest{RunId: runID("local-1")})
	require.NoError(t, err)
	action, err := f.tracked.WatchActionDetails(t.Context(), &workflow.WatchActionDetailsRequest{ActionId: actionID("local-1", "a0")})
	require.NoError(t, err)
	actions, err := f.tracked.WatchActions(t.Context(), &workflow.WatchActionsRequest{RunId: runID("local-1")})
	require.NoError(t, err)
	insight, err := f.insight.WatchRunActions(t.Context(), &insightv1.WatchRunActionsRequest{RunId: runID("local-1"), RunSource: trackedSource})
	require.NoError(t, err)
	list, err := f.tracked.WatchRuns(t.Context(), &workflow.WatchRunsRequest{Target: &workflow.WatchRunsRequest_ProjectId{
		ProjectId: &common.ProjectIdentifier{Name: "flytesnacks", Domain: "development"},
	}})
	require.NoError(t, err)
	require.True(t, list.Receive() && details.Receive() && action.Receive() && actions.Receive() && insight.Receive())
	require.Equal(t, running, details.Msg().GetDetails().GetAction().GetStatus().GetPhase())

	f.ok("local-1", f.update("local-1", "a0", 1, 1, succeeded))
	var last common.ActionPhase
	for details.Receive() {
		last = details.Msg().GetDetails().GetAction().GetStatus().GetPhase()
	}
	require.NoError(t, details.Err())
	require.Equal(t, succeeded, last)
	for action.Receive() {
		last = action.Msg().GetDetails().GetStatus().GetPhase()
	}
	require.NoError(t, action.Err())
	require.Equal(t, succeeded, last)
	for actions.Receive() {
		for _, enriched := range actions.Msg().GetEnrichedActions() {
			last = enriched.GetAction().GetStatus().GetPhase()
		}
	}
	require.NoError(t, actions.Err())
	require.Equal(t, succeeded, last)
	for list.Receive() {
		if runs := list.Msg().GetRuns(); len(runs) > 0 && runs[0].GetAction().GetStatus().GetPhase() == succeeded {
			break
		}
	}
	require.NoError(t, list.Err())
	require.NoError(t, list.Close())
	require.NoError(t, insight.Close())
}

// Tracked runs have a world of their own: nothing that concerns the runs of the installation sees them.
func TestTrackedRunsAreApart(t *testing.T) {
	f := newTrackedFixture(t)
	f.create("same")
	f.ok("same", f.update("same", "a0", 1, 0, running), f.first("same", "a0", "c", queued))
	require.Zero(t, f.number(`SELECT count(*) FROM public.actions`))
	require.Zero(t, f.number(`SELECT count(*) FROM tracked.actions WHERE admitted_at IS NOT NULL`), "nothing is admitted")
	_, err := f.runs.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: runID("same")})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))

	_, err = f.runs.CreateRun(t.Context(), namedRun("same"))
	require.NoError(t, err, "names may repeat")
	_, err = f.runs.AbortRun(t.Context(), &workflow.AbortRunRequest{RunId: runID("same")})
	require.NoError(t, err)
	require.Equal(t, running, f.phase("same", "a0"))
	request := namedRun("other")
	request.Source = trackedSource
	_, err = f.runs.CreateRun(t.Context(), request)
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err))
	_, err = f.insight.ListErrors(t.Context(), &insightv1.ListErrorsRequest{RunId: runID("other"), RunSource: trackedSource})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
}

func TestReportsOfTrackedActionsNeverGoBack(t *testing.T) {
	f := newTrackedFixture(t)
	f.create("local-1")
	begin, more, end := f.first("local-1", "a0", "c", running), f.update("local-1", "c", 1, 1, running), f.update("local-1", "c", 1, 2, succeeded)
	f.ok("local-1", begin, more, begin, more)
	f.ok("local-1", end)
	events := f.number(`SELECT count(*) FROM tracked.action_events`)
	f.ok("local-1", begin, more, end, f.update("local-1", "c", 1, 0, running), f.update("local-1", "c", 1, 9, running))
	require.Equal(t, succeeded, f.phase("local-1", "c"))
	require.Equal(t, events, f.number(`SELECT count(*) FROM tracked.action_events`))
	// A client that sent everything again, since it did not receive the answer.
	f.ok("local-1", begin, more, end)
	require.Equal(t, events, f.number(`SELECT count(*) FROM tracked.action_events`))
}

func TestABadReportFailsAlone(t *testing.T) {
	f := newTrackedFixture(t)
	f.create("local-1")
	orphan := f.first("local-1", "none", "o", running)
	foreign := f.update("local-1", "a0", 1, 5, running)
	foreign.Event.Id = actionID("local-2", "a0")
	outside := f.first("local-1", "a0", "x", succeeded)
	outside.Event.Outputs = &task.OutputReferences{OutputUri: f.blobs.Root() + "/uploads/flytesnacks/development/tracked-runs/other/c/1/outputs.pb"}
	code := f.first("local-1", "a0", "y", running)
	code.GetTask().Spec.TaskTemplate.Target = &core.TaskTemplate_Container{Container: &core.Container{
		Args: []string{"--tgz", f.blobs.Root() + "/uploads/other/development/x/fast.tgz"},
	}}
	codes := f.send("local-1",
		f.update("local-1", "a0", 1, 0, running), orphan, f.update("local-1", "unknown", 1, 0, running), foreign, outside, code,
		f.update("local-1", "a0", 1, 1, common.ActionPhase_ACTION_PHASE_UNSPECIFIED), f.first("local-1", "a0", "good", running))
	require.Equal(t, []connect.Code{
		0, connect.CodeNotFound, connect.CodeNotFound, connect.CodeInvalidArgument, connect.CodeInvalidArgument, connect.CodeInvalidArgument,
		connect.CodeInvalidArgument, 0,
	}, codes)
	require.Equal(t, running, f.phase("local-1", "good"))
	require.Equal(t, 2, f.number(`SELECT count(*) FROM tracked.actions`))

	_, err := f.tracked.ReportActions(t.Context(), &workflow.ReportTrackedActionsRequest{
		RunId: runID("none"), Updates: []*workflow.TrackedActionUpdate{f.update("none", "a0", 1, 0, running)},
	})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
}

// TestATrackedRunNamesNoPod: no pod runs it, so one that a report names belongs to someone else.
func TestATrackedRunNamesNoPod(t *testing.T) {
	f := newTrackedFixture(t)
	f.create("local-1")
	update := f.update("local-1", "a0", 1, 0, running)
	update.Event.LogContext = &core.LogContext{PrimaryPodName: "pod", Pods: []*core.PodLogContext{{Namespace: "theirs-development", PodName: "pod"}}}
	require.Equal(t, []connect.Code{connect.CodeInvalidArgument}, f.send("local-1", update))

	require.Equal(t, []connect.Code{0}, f.send("local-1", f.update("local-1", "a0", 1, 0, running)))
	require.Nil(t, f.details("local-1", "a0").GetAttempts()[0].GetLogContext())
}

func TestAbortOfATrackedRun(t *testing.T) {
	f := newTrackedFixture(t)
	f.create("local-1")
	f.ok("local-1", f.update("local-1", "a0", 1, 0, running), f.first("local-1", "a0", "done", succeeded), f.first("local-1", "a0", "c", running))
	reason := "enough"
	abort := &workflow.AbortRunRequest{RunId: runID("local-1"), Reason: &reason}
	_, err := f.tracked.AbortRun(t.Context(), abort)
	require.NoError(t, err)
	require.Equal(t, aborted, f.phase("local-1", "a0"))
	require.Equal(t, aborted, f.phase("local-1", "c"))
	require.Equal(t, succeeded, f.phase("local-1", "done"))
	require.Equal(t, "enough", f.details("local-1", "c").GetAbortInfo().GetReason())

	require.Equal(t, []connect.Code{connect.CodeFailedPrecondition, connect.CodeFailedPrecondition, connect.CodeFailedPrecondition, 0},
		f.send("local-1", f.update("local-1", "c", 1, 1, succeeded), f.update("local-1", "c", 2, 0, running),
			f.first("local-1", "a0", "new", running), f.update("local-1", "c", 1, 1, aborted)))
	require.Equal(t, aborted, f.phase("local-1", "c"))
	_, err = f.tracked.AbortRun(t.Context(), abort)
	require.NoError(t, err, "again")
	_, err = f.tracked.AbortRun(t.Context(), &workflow.AbortRunRequest{RunId: runID("none")})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
}

// A client reports that an attempt failed before it knows whether another one follows.
func TestAttemptsOfTrackedActions(t *testing.T) {
	f := newTrackedFixture(t)
	f.create("local-1")
	boom := f.update("local-1", "a0", 1, 1, failed)
	boom.Event.ErrorInfo = &workflow.ErrorInfo{Message: "boom", Kind: workflow.ErrorInfo_KIND_USER}
	f.ok("local-1", f.update("local-1", "a0", 1, 0, running), f.first("local-1", "a0", "c", running))
	f.ok("local-1", boom)
	require.Equal(t, failed, f.phase("local-1", "a0"))
	require.Equal(t, "boom", f.details("local-1", "a0").GetErrorInfo().GetMessage())
	require.Equal(t, running, f.phase("local-1", "c"), "the next attempt may go on with it")
	f.ok("local-1", f.update("local-1", "a0", 2, 0, running))
	require.Equal(t, running, f.phase("local-1", "a0"))
	require.Zero(t, f.number(`SELECT count(*) FROM tracked.actions WHERE due = 8`), "nothing is left to sweep")
	f.ok("local-1", boom, f.update("local-1", "a0", 2, 1, succeeded))
	details := f.details("local-1", "a0")
	require.Equal(t, succeeded, details.GetStatus().GetPhase())
	require.Len(t, details.GetAttempts(), 2)
	require.Equal(t, failed, details.GetAttempts()[0].GetPhase())
	require.Equal(t, aborted, f.phase("local-1", "c"), "its parent has succeeded without it")
}

func TestReportedAbort(t *testing.T) {
	f := newTrackedFixture(t)
	f.create("local-1")
	end := f.update("local-1", "a0", 1, 1, aborted)
	end.Event.ErrorInfo = &workflow.ErrorInfo{Message: "inter\x00rupted" + strings.Repeat("é", 5000)}
	f.ok("local-1", f.update("local-1", "a0", 1, 0, running), end)
	require.Equal(t, "inter?rupted"+strings.Repeat("é", 2042), f.details("local-1", "a0").GetAbortInfo().GetReason())
}

func TestCreationOfTrackedRuns(t *testing.T) {
	f := newTrackedFixture(t)
	f.create("local-1")
	f.create("local-1")
	other := f.request("local-1")
	other.Labels = nil
	_, err := f.tracked.CreateRun(t.Context(), other)
	require.Equal(t, connect.CodeAlreadyExists, connect.CodeOf(err))
	require.Equal(t, 1, f.number(`SELECT count(*) FROM tracked.actions`))

	for name, change := range map[string]func(*workflow.CreateTrackedRunRequest){
		"reserved":     func(r *workflow.CreateTrackedRunRequest) { r.GetRunId().Name = "run1" },
		"reserved too": func(r *workflow.CreateTrackedRunRequest) { r.GetRunId().Name = "u1" },
		"long":         func(r *workflow.CreateTrackedRunRequest) { r.GetRunId().Name = fmt.Sprintf("l%030d", 1) },
		"a path":       func(r *workflow.CreateTrackedRunRequest) { r.GetRunId().Name = "../x" },
		"foreign inputs": func(r *workflow.CreateTrackedRunRequest) {
			r.OffloadedInputData = &common.OffloadedInputData{Uri: f.blobs.Root() + "/uploads/other/development/x/inputs.pb"}
		},
		"no task": func(r *workflow.CreateTrackedRunRequest) { r.GetTaskSpec().TaskTemplate = nil },
	} {
		request := f.request("local-2")
		change(request)
		_, err := f.tracked.CreateRun(t.Context(), request)
		require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err), name)
	}
	request := f.request("")
	request.Id = &workflow.CreateTrackedRunRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: "flytesnacks", Domain: "development"}}
	response, err := f.tracked.CreateRun(t.Context(), request)
	require.NoError(t, err)
	require.Regexp(t, `^local-[0-9a-f]{16}$`, response.GetRun().GetAction().GetId().GetRun().GetName())
}

// A client that died never says so.
func TestASilentTrackedRunIsEnded(t *testing.T) {
	clk := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	f := trackedFixtureOn(t, pgtest.Schemas(t, store.Schema(), store.TrackedSchema()), clk)
	f.create("local-1")
	f.ok("local-1", f.update("local-1", "a0", 1, 0, running), f.first("local-1", "a0", "c", running))
	clk.Step(71 * time.Hour)
	f.ok("local-1", f.update("local-1", "c", 1, 1, running))
	clk.Step(71 * time.Hour)
	require.Equal(t, running, f.phase("local-1", "a0"), "a child has reported")
	clk.Step(2 * time.Hour)
	require.Eventually(t, func() bool {
		clk.Step(5 * time.Second)
		return f.phase("local-1", "c") == aborted
	}, 20*time.Second, 10*time.Millisecond)
	require.Contains(t, f.details("local-1", "a0").GetAbortInfo().GetReason(), "no report for 72h")
}

// A client repeats what it got no answer to, and its repetition may reach another replica while the first is under way.
func TestReplicasRecordAReportOnce(t *testing.T) {
	pool := pgtest.Schemas(t, store.Schema(), store.TrackedSchema())
	replicas := []*trackedFixture{trackedFixtureOn(t, pool, clock.System{}), trackedFixtureOn(t, pool, clock.System{})}
	f := replicas[0]
	f.create("local-1")
	for i := range 20 {
		name := fmt.Sprint("c", i)
		updates := []*workflow.TrackedActionUpdate{f.first("local-1", "a0", name, running), f.update("local-1", name, 1, 1, succeeded)}
		for _, u := range updates {
			u.Event.Outputs = nil
		}
		var wg sync.WaitGroup
		for _, replica := range replicas {
			wg.Go(func() {
				response, err := replica.tracked.ReportActions(t.Context(), &workflow.ReportTrackedActionsRequest{RunId: runID("local-1"), Updates: updates})
				require.NoError(t, err)
				for _, status := range response.GetStatuses() {
					require.Zero(t, status.GetCode(), status.GetMessage())
				}
			})
		}
		wg.Wait()
	}
	require.Equal(t, 1+20*3, f.number(`SELECT count(*) FROM tracked.action_events`))
	require.Equal(t, 21, f.number(`SELECT count(*) FROM tracked.actions`))
}

func TestSearchFindsTrackedRuns(t *testing.T) {
	t.Parallel()
	f := newTrackedFixture(t)
	_, err := f.runs.CreateRun(t.Context(), namedRun("same"))
	require.NoError(t, err)
	f.create("same")
	search := func(query string, limit uint32) (found []string) {
		t.Helper()
		response, err := f.insight.Search(t.Context(), &insightv1.SearchRequest{Query: query, Limit: limit})
		require.NoError(t, err)
		for _, one := range response.GetFound() {
			found = append(found, one.GetKind()+" "+one.GetName()+" "+one.GetRunSource().String())
		}
		return found
	}
	both := []string{"run same RUN_SOURCE_UNSPECIFIED", "run same RUN_SOURCE_TRACKED"}
	require.ElementsMatch(t, both, search("same", 8))
	require.ElementsMatch(t, both, search("main", 8), "by the name of the task")
	require.Equal(t, []string{"run same RUN_SOURCE_TRACKED"}, search("team=a", 8), "by a label")
	require.Len(t, search("same", 1), 1)
}
