package connectors_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/connectors"
	"github.com/flyte-binary/flyte-binary/connectors/store"
	"github.com/flyte-binary/flyte-binary/events"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs"
	runstore "github.com/flyte-binary/flyte-binary/runs/store"
)

// fixture is the service alongside the real runs service, on one database.
type fixture struct {
	t          testing.TB
	db         *pgxpool.Pool
	blobs      *blobstore.Store
	config     connectors.Config
	runs       workflowconnect.RunServiceClient
	engine     enginev1connect.EngineServiceClient
	connectors insightv1connect.ConnectorInsightServiceClient
	insight    insightv1connect.InsightServiceClient
	sink       *events.Sink
	values     map[string]string // of secrets
	apps       connectors.Apps
	tokens     connectors.Tokens // nil means that none are issued
	stop       func()
	client     *lateClient
}

// lateClient is the client of a service that is made after the runs service.
type lateClient struct {
	enginev1connect.ConnectorRegistryServiceClient
}

func newFixture(t testing.TB, endpoints ...connectors.Endpoint) *fixture {
	t.Helper()
	return newFixtureWith(t, func(c *connectors.Config) { c.Endpoints = endpoints })
}

func newFixtureWith(t testing.TB, change func(*connectors.Config)) *fixture {
	t.Helper()
	return newFixtureOn(t, pgtest.Schemas(t, runstore.Schema(), store.Schema()), t.TempDir(), change)
}

// newFixtureOf has connectors that are apps.
func newFixtureOf(t testing.TB, apps connectors.Apps, change func(*connectors.Config)) *fixture {
	t.Helper()
	f := newFixtureWith(t, func(*connectors.Config) {})
	f.stop()
	change(&f.config)
	f.apps = apps
	f.stop = f.replica()
	return f
}

// newFixtureOn is on a database with the schemas and a directory for the object store, which other processes may have filled.
func newFixtureOn(t testing.TB, db *pgxpool.Pool, folder string, change func(*connectors.Config)) *fixture {
	t.Helper()
	f := &fixture{
		t: t, db: db, config: connectors.DefaultConfig(), values: map[string]string{},
		client: &lateClient{},
	}
	f.config.SystemBackoff, f.config.MinPoll, f.config.Lease = 10*time.Millisecond, 10*time.Millisecond, 3*time.Second
	f.config.MaxBackoff, f.config.Refresh = 50*time.Millisecond, 100*time.Millisecond
	change(&f.config)
	blobs := blobstore.DefaultConfig()
	blobs.URL, blobs.PublicURL, blobs.Sync = folder, "http://localhost", false
	var err error
	f.blobs, err = blobstore.Open(t.Context(), blobs)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.blobs.Close()) })
	service, err := runs.New(runs.DefaultConfig(), runs.Deps{Pool: f.db, Blobs: f.blobs, Peers: runs.Peers{Connectors: f.client}, Logger: zerolog.Nop()})
	require.NoError(t, err)
	require.NoError(t, service.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, service.Stop(context.WithoutCancel(t.Context()))) })
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	service.Mount(mux)
	client := rpc.InProcess(mux)
	f.runs = workflowconnect.NewRunServiceClient(client, rpc.InProcessURL)
	f.insight = insightv1connect.NewInsightServiceClient(client, rpc.InProcessURL)
	f.engine = enginev1connect.NewEngineServiceClient(client, rpc.InProcessURL)
	reports, err := events.New(events.DefaultConfig(), events.Deps{Engine: f.engine, Logger: zerolog.Nop()})
	require.NoError(t, err)
	require.NoError(t, reports.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, reports.Stop(context.WithoutCancel(t.Context()))) })
	f.sink = reports.Sink()
	f.stop = f.replica()
	return f
}

// GetSecretValues implements connectors.Secrets.
func (f *fixture) GetSecretValues(_ context.Context, r *enginev1.GetSecretValuesRequest) (*enginev1.GetSecretValuesResponse, error) {
	answer := &enginev1.GetSecretValuesResponse{}
	for _, name := range r.GetNames() {
		if value, ok := f.values[name]; ok {
			answer.Values = append(answer.Values, &enginev1.SecretValue{Name: name, Value: []byte(value)})
		} else {
			answer.Missing = append(answer.Missing, name)
		}
	}
	return answer, nil
}

// replica starts the service, as a process that starts does.
func (f *fixture) replica() (stop func()) {
	f.t.Helper()
	service, err := connectors.New(f.config, connectors.Deps{
		Pool: f.db, Engine: f.engine, Sink: f.sink, Store: f.blobs, Secrets: f, Apps: f.apps, Tokens: f.tokens,
		PublicURL: "https://flyte.example.com", Logger: zerolog.New(zerolog.NewTestWriter(f.t)),
	})
	require.NoError(f.t, err)
	require.NoError(f.t, service.Start(f.t.Context()))
	var once sync.Once
	stop = func() {
		once.Do(func() { require.NoError(f.t, service.Stop(context.WithoutCancel(f.t.Context()))) })
	}
	f.t.Cleanup(stop)
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	service.Mount(mux)
	f.connectors = insightv1connect.NewConnectorInsightServiceClient(rpc.InProcess(mux), rpc.InProcessURL)
	f.client.ConnectorRegistryServiceClient = enginev1connect.NewConnectorRegistryServiceClient(rpc.InProcess(mux), rpc.InProcessURL)
	return stop
}

// serves waits until a type of task is served.
func (f *fixture) serves(taskType string) {
	f.t.Helper()
	f.eventually("a connector serves "+taskType, func() bool {
		answer, err := f.client.FindConnector(f.t.Context(), &enginev1.FindConnectorRequest{TaskType: taskType, Project: "flytesnacks", Domain: "development"})
		return err == nil && answer.GetConnector() != ""
	})
}

func actionID(run string) *common.ActionIdentifier {
	return &common.ActionIdentifier{Run: &common.RunIdentifier{Project: "flytesnacks", Domain: "development", Name: run}, Name: "a0"}
}

// job is a task as the SDK's connectors declare it: an empty container, and one output.
func job(change ...func(*core.TaskTemplate)) *task.TaskSpec {
	template := &core.TaskTemplate{
		Id: &core.Identifier{Name: "env.job", Version: "v1", Project: "flytesnacks", Domain: "development"}, Type: "batch_job",
		Interface: &core.TypedInterface{Outputs: &core.VariableMap{Variables: []*core.VariableEntry{{Key: "result", Value: &core.Variable{
			Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_STRING}},
		}}}}},
		Metadata: &core.TaskMetadata{}, Target: &core.TaskTemplate_Container{Container: &core.Container{}},
	}
	for _, do := range change {
		do(template)
	}
	return &task.TaskSpec{TaskTemplate: template, Environment: &task.Environment{Name: "env"}}
}

func (f *fixture) run(name string, spec *task.TaskSpec, change ...func(*workflow.CreateRunRequest)) {
	f.t.Helper()
	require.NoError(f.t, f.create(name, spec, change...))
}

func (f *fixture) create(name string, spec *task.TaskSpec, change ...func(*workflow.CreateRunRequest)) error {
	request := &workflow.CreateRunRequest{
		Id:   &workflow.CreateRunRequest_RunId{RunId: actionID(name).GetRun()},
		Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: spec},
	}
	for _, do := range change {
		do(request)
	}
	_, err := f.runs.CreateRun(f.t.Context(), request)
	return err
}

func (f *fixture) details(run string) *workflow.ActionDetails {
	f.t.Helper()
	answer, err := f.runs.GetActionDetails(f.t.Context(), &workflow.GetActionDetailsRequest{ActionId: actionID(run)})
	require.NoError(f.t, err)
	return answer.GetDetails()
}

func (f *fixture) reaches(run string, phase common.ActionPhase) *workflow.ActionDetails {
	f.t.Helper()
	var details *workflow.ActionDetails
	f.eventually(run+" is "+phase.String(), func() bool {
		details = f.details(run)
		return details.GetStatus().GetPhase() == phase
	})
	return details
}

func (f *fixture) eventually(what string, is func() bool) {
	f.t.Helper()
	require.Eventually(f.t, is, wait, tick, what)
}

// forgotten waits until the service has no jobs.
func (f *fixture) forgotten() {
	f.t.Helper()
	f.eventually("no jobs are left", func() bool {
		var n int
		require.NoError(f.t, f.db.QueryRow(f.t.Context(), `SELECT count(*) FROM connector_jobs`).Scan(&n))
		return n == 0
	})
}

func (f *fixture) outputs(details *workflow.ActionDetails) *task.Outputs {
	f.t.Helper()
	attempts := details.GetAttempts()
	body, err := f.blobs.ReadAll(f.t.Context(), attempts[len(attempts)-1].GetOutputs().GetOutputUri(), 1<<20)
	require.NoError(f.t, err)
	outputs := &task.Outputs{}
	require.NoError(f.t, proto.Unmarshal(body, outputs))
	return outputs
}

func text(name, value string) *task.NamedLiteral {
	return &task.NamedLiteral{Name: name, Value: &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Primitive{
		Primitive: &core.Primitive{Value: &core.Primitive_StringValue{StringValue: value}},
	}}}}}
}
