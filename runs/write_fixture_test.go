package runs_test

import (
	"context"
	"testing"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings/settingsconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// writeFixture is the running service as other services of the process see it, on files and a fresh database.
type writeFixture struct {
	t          testing.TB
	pool       *pgxpool.Pool
	blobs      *blobstore.Store
	service    *runs.Service
	runs       workflowconnect.RunServiceClient
	internal   workflowconnect.InternalRunServiceClient
	engine     enginev1connect.EngineServiceClient
	insight    insightv1connect.InsightServiceClient
	conditions insightv1connect.ConditionServiceClient
	problems   insightv1connect.ProblemServiceClient
	health     insightv1connect.TaskHealthServiceClient
	caches     insightv1connect.CacheInsightServiceClient
	costs      insightv1connect.CostServiceClient
	settings   settingsconnect.SettingsServiceClient
}

func newWriteFixture(t testing.TB, change func(*runs.Config)) *writeFixture {
	t.Helper()
	return writeFixtureOn(t, pgtest.New(t, store.Migrations()), change)
}

func writeFixtureOn(t testing.TB, pool *pgxpool.Pool, change func(*runs.Config)) *writeFixture {
	t.Helper()
	return writeFixtureWith(t, pool, change, func(*runs.Deps) {})
}

func writeFixtureWith(t testing.TB, pool *pgxpool.Pool, change func(*runs.Config), more func(*runs.Deps)) *writeFixture {
	t.Helper()
	config := runs.DefaultConfig()
	if change != nil {
		change(&config)
	}
	c := &writeFixture{t: t, pool: pool}
	blobs := blobstore.DefaultConfig()
	blobs.URL, blobs.PublicURL, blobs.Sync = t.TempDir(), "http://localhost", false
	var err error
	c.blobs, err = blobstore.Open(t.Context(), blobs)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.blobs.Close()) })
	deps := runs.Deps{Pool: c.pool, Blobs: c.blobs, Launch: runs.Launch{WorkerPools: true}, Logger: zerolog.Nop()}
	more(&deps)
	c.service, err = runs.New(config, deps)
	require.NoError(t, err)
	require.NoError(t, c.service.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, c.service.Stop(context.WithoutCancel(t.Context()))) })
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	c.service.Mount(mux)
	client := rpc.InProcess(mux)
	c.runs = workflowconnect.NewRunServiceClient(client, rpc.InProcessURL)
	c.internal = workflowconnect.NewInternalRunServiceClient(client, rpc.InProcessURL)
	c.engine = enginev1connect.NewEngineServiceClient(client, rpc.InProcessURL)
	c.problems = insightv1connect.NewProblemServiceClient(client, rpc.InProcessURL)
	c.health = insightv1connect.NewTaskHealthServiceClient(client, rpc.InProcessURL)
	c.caches = insightv1connect.NewCacheInsightServiceClient(client, rpc.InProcessURL)
	c.costs = insightv1connect.NewCostServiceClient(client, rpc.InProcessURL)
	c.insight = insightv1connect.NewInsightServiceClient(client, rpc.InProcessURL)
	c.conditions = insightv1connect.NewConditionServiceClient(client, rpc.InProcessURL)
	c.settings = settingsconnect.NewSettingsServiceClient(client, rpc.InProcessURL)
	return c
}

func taskSpec(name string) *task.TaskSpec {
	return &task.TaskSpec{
		ShortName:    name,
		Environment:  &task.Environment{Name: "env"},
		TaskTemplate: &core.TaskTemplate{Id: &core.Identifier{Name: "env." + name, Version: "v1"}, Type: "python"},
	}
}

func runID(name string) *common.RunIdentifier {
	return &common.RunIdentifier{Project: "flytesnacks", Domain: "development", Name: name}
}

func actionID(run, name string) *common.ActionIdentifier {
	return &common.ActionIdentifier{Run: runID(run), Name: name}
}

func namedRun(name string) *workflow.CreateRunRequest {
	return &workflow.CreateRunRequest{
		Id:   &workflow.CreateRunRequest_RunId{RunId: runID(name)},
		Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: taskSpec("main")},
	}
}

func text(value string) *core.Literal {
	return &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Primitive{
		Primitive: &core.Primitive{Value: &core.Primitive_StringValue{StringValue: value}},
	}}}}
}

func (c *writeFixture) create(request *workflow.CreateRunRequest) *workflow.Run {
	c.t.Helper()
	response, err := c.runs.CreateRun(c.t.Context(), request)
	require.NoError(c.t, err)
	return response.GetRun()
}

func (c *writeFixture) record(request *workflow.RecordActionRequest) connect.Code {
	c.t.Helper()
	if request.GetTask() != nil && request.GetInputUri() == "" {
		request.InputUri = c.blobs.Root() + "/flytesnacks/development/in/" + request.GetActionId().GetName() + "/inputs.pb"
	}
	response, err := c.internal.RecordAction(c.t.Context(), request)
	require.NoError(c.t, err)
	return connect.Code(response.GetStatus().GetCode())
}

func childTask(run, parent, name string) *workflow.RecordActionRequest {
	return &workflow.RecordActionRequest{
		ActionId: actionID(run, name), Parent: parent,
		Spec: &workflow.RecordActionRequest_Task{Task: &workflow.TaskAction{Spec: taskSpec("child")}},
	}
}

func (c *writeFixture) child(run, parent, name string) {
	c.t.Helper()
	require.Zero(c.t, c.record(childTask(run, parent, name)))
}

func transition(run, action string, attempt uint32, phase common.ActionPhase) *enginev1.Transition {
	return &enginev1.Transition{Event: &workflow.ActionEvent{Id: actionID(run, action), Attempt: attempt, Phase: phase}}
}

func (c *writeFixture) report(transitions ...*enginev1.Transition) []enginev1.TransitionOutcome {
	c.t.Helper()
	response, err := c.engine.RecordTransitions(c.t.Context(), &enginev1.RecordTransitionsRequest{Transitions: transitions})
	require.NoError(c.t, err)
	return response.GetOutcomes()
}

func (c *writeFixture) details(run, action string) *workflow.ActionDetails {
	c.t.Helper()
	response, err := c.runs.GetActionDetails(c.t.Context(), &workflow.GetActionDetailsRequest{ActionId: actionID(run, action)})
	require.NoError(c.t, err)
	return response.GetDetails()
}

func (c *writeFixture) phase(run, action string) common.ActionPhase {
	c.t.Helper()
	return c.details(run, action).GetStatus().GetPhase()
}

func (c *writeFixture) storage(run, action string) *enginev1.GetActionStorageResponse {
	c.t.Helper()
	response, err := c.engine.GetActionStorage(c.t.Context(), &enginev1.GetActionStorageRequest{ActionId: actionID(run, action)})
	require.NoError(c.t, err)
	return response
}
