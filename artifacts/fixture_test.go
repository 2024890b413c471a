package artifacts_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/apps"
	appstore "github.com/flyte-binary/flyte-binary/apps/store"
	"github.com/flyte-binary/flyte-binary/artifacts"
	artifactstore "github.com/flyte-binary/flyte-binary/artifacts/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app/appconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact/artifactconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project/projectconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs"
	runstore "github.com/flyte-binary/flyte-binary/runs/store"
)

// The seeded project and one of its domains.
const (
	project = "flytesnacks"
	domain  = "development"
)

// world is the service and the real runs service, as clients see them. The artifact service may be away.
type world struct {
	t        testing.TB
	pool     *pgxpool.Pool
	blobs    *blobstore.Store
	service  *artifacts.Service
	runs     *runs.Service
	away     atomic.Bool
	client   artifactconnect.ArtifactServiceClient
	insight  insightv1connect.ArtifactInsightServiceClient
	registry enginev1connect.ArtifactRegistryServiceClient
	events   enginev1connect.ArtifactEventServiceClient
	run      workflowconnect.RunServiceClient
	internal workflowconnect.InternalRunServiceClient
	engine   enginev1connect.EngineServiceClient
	apps     appconnect.AppServiceClient
	projects projectconnect.ProjectServiceClient
	halt     func()
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, pool: pgtest.Schemas(t, runstore.Schema(), artifactstore.Schema(), appstore.Schema())}
	config := blobstore.DefaultConfig()
	config.URL, config.PublicURL, config.Sync = t.TempDir(), "http://localhost", false
	var err error
	w.blobs, err = blobstore.Open(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.blobs.Close()) })
	w.start()
	t.Cleanup(func() { w.halt() })
	return w
}

// start starts both services on the stored state.
func (w *world) start() {
	w.t.Helper()
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	client := rpc.InProcess(mux)
	sometimes := rpc.InProcess(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if w.away.Load() {
			http.Error(out, "away", http.StatusServiceUnavailable)
			return
		}
		mux.ServeHTTP(out, r)
	}))
	config := runs.DefaultConfig()
	config.Artifacts.Poll, config.Artifacts.UsesEvery, config.Artifacts.Lease = 5*time.Millisecond, 5*time.Millisecond, 3*time.Second
	config.Artifacts.Backoff.First, config.Artifacts.Backoff.Max = 5*time.Millisecond, 20*time.Millisecond
	config.Retention.MaxRuns, config.Retention.Grace = 1, 0
	var err error
	w.runs, err = runs.New(config, runs.Deps{
		Pool: w.pool, Blobs: w.blobs, Logger: zerolog.Nop(), Retention: runs.Retention{InUse: []string{artifactstore.InUse("public")}},
		Peers: runs.Peers{Artifacts: enginev1connect.NewArtifactRegistryServiceClient(sometimes, rpc.InProcessURL)},
	})
	require.NoError(w.t, err)
	w.service, err = artifacts.New(artifacts.DefaultConfig(), artifacts.Deps{
		Pool: w.pool, Blobs: w.blobs, Logger: zerolog.Nop(), Clock: clock.System{},
		Projects: projectconnect.NewProjectServiceClient(client, rpc.InProcessURL),
		Engine:   enginev1connect.NewEngineServiceClient(client, rpc.InProcessURL),
		Runs:     workflowconnect.NewRunServiceClient(client, rpc.InProcessURL),
		Uses:     enginev1connect.NewArtifactUseServiceClient(client, rpc.InProcessURL),
		AppUses:  enginev1connect.NewAppUseServiceClient(client, rpc.InProcessURL),
	})
	require.NoError(w.t, err)
	// Nothing runs the apps; their autoscaler is not started.
	deployed, err := apps.New(apps.DefaultConfig(), apps.Deps{
		Pool: w.pool, Blobs: w.blobs, Projects: projectconnect.NewProjectServiceClient(client, rpc.InProcessURL),
		Addresses: apps.Addresses{PublicURL: "http://localhost"}, Clock: clock.System{}, Logger: zerolog.Nop(),
	})
	require.NoError(w.t, err)
	deployed.Mount(mux)
	w.apps = appconnect.NewAppServiceClient(client, rpc.InProcessURL)
	w.runs.Mount(mux)
	w.service.Mount(mux)
	require.NoError(w.t, w.runs.Start(w.t.Context()))
	require.NoError(w.t, w.service.Start(w.t.Context()))
	service, running := w.service, w.runs
	w.halt = func() {
		ctx := context.WithoutCancel(w.t.Context())
		require.NoError(w.t, running.Stop(ctx))
		require.NoError(w.t, service.Stop(ctx))
	}
	w.projects = projectconnect.NewProjectServiceClient(client, rpc.InProcessURL)
	w.client = artifactconnect.NewArtifactServiceClient(client, rpc.InProcessURL)
	w.insight = insightv1connect.NewArtifactInsightServiceClient(client, rpc.InProcessURL)
	w.registry = enginev1connect.NewArtifactRegistryServiceClient(client, rpc.InProcessURL)
	w.events = enginev1connect.NewArtifactEventServiceClient(client, rpc.InProcessURL)
	w.run = workflowconnect.NewRunServiceClient(client, rpc.InProcessURL)
	w.internal = workflowconnect.NewInternalRunServiceClient(client, rpc.InProcessURL)
	w.engine = enginev1connect.NewEngineServiceClient(client, rpc.InProcessURL)
}

func name(text string) *artifact.ArtifactName {
	return &artifact.ArtifactName{Org: "o", Project: project, Domain: domain, Name: text}
}

func number(n int64) *core.Literal {
	return &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Primitive{
		Primitive: &core.Primitive{Value: &core.Primitive_Integer{Integer: n}},
	}}}}
}

func file(uri string) *core.Literal {
	return &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Blob{Blob: &core.Blob{Uri: uri}}}}}
}

func integer() *core.LiteralType {
	return &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_INTEGER}}
}

type change func(*artifact.CreateArtifactRequest)

func with(pairs ...string) change {
	return func(r *artifact.CreateArtifactRequest) {
		r.Spec.Partitions = &core.Partitions{Value: map[string]*core.LabelValue{}}
		for i := 0; i < len(pairs); i += 2 {
			r.Spec.Partitions.Value[pairs[i]] = &core.LabelValue{Value: &core.LabelValue_StaticValue{StaticValue: pairs[i+1]}}
		}
	}
}

func on(at time.Time, granularity core.Granularity) change {
	return func(r *artifact.CreateArtifactRequest) {
		r.Spec.TimePartition = &core.TimePartition{
			Key: "date", Granularity: granularity, Value: &core.LabelValue{Value: &core.LabelValue_TimeValue{TimeValue: timestamppb.New(at)}},
		}
	}
}

func about(key, value string) change {
	return func(r *artifact.CreateArtifactRequest) {
		if r.Spec.Info == nil {
			r.Spec.Info = &core.ArtifactInfo{UserMetadata: map[string]string{}}
		}
		r.Spec.Info.UserMetadata[key] = value
	}
}

func by(run, action string) change {
	return func(r *artifact.CreateArtifactRequest) {
		r.Spec.Source = &artifact.ArtifactSource{Source: &artifact.ArtifactSource_TaskAction{TaskAction: &artifact.TaskActionSource{
			Action: actionID(run, action), Attempt: 1,
		}}}
	}
}

func value(l *core.Literal) change {
	return func(r *artifact.CreateArtifactRequest) { r.Spec.Value = l }
}

func from(parent, version string) change {
	return func(r *artifact.CreateArtifactRequest) {
		r.Spec.ParentArtifacts = append(r.Spec.ParentArtifacts, &core.ArtifactVersionId{Key: &core.ArtifactKey{Name: parent}, Version: version})
	}
}

func request(artifactName, version string, changes ...change) *artifact.CreateArtifactRequest {
	r := &artifact.CreateArtifactRequest{
		ArtifactId: &artifact.ArtifactIdentifier{Name: name(artifactName), Version: version},
		Spec:       &artifact.ArtifactSpec{Value: number(1), Type: integer()},
	}
	for _, c := range changes {
		c(r)
	}
	return r
}

func (w *world) create(artifactName, version string, changes ...change) *artifact.Artifact {
	w.t.Helper()
	response, err := w.client.CreateArtifact(w.t.Context(), request(artifactName, version, changes...))
	require.NoError(w.t, err)
	return response.GetArtifact()
}

func (w *world) get(artifactName, version string) (*artifact.Artifact, error) {
	w.t.Helper()
	r := &artifact.GetArtifactRequest{Name: name(artifactName)}
	if version != "" {
		r.Version = &version
	}
	response, err := w.client.GetArtifact(w.t.Context(), r)
	return response.GetArtifact(), err
}

func (w *world) remove(artifactName, version string) {
	w.t.Helper()
	_, err := w.client.DeleteArtifact(w.t.Context(), &artifact.DeleteArtifactRequest{
		ArtifactId: &artifact.ArtifactIdentifier{Name: name(artifactName), Version: version},
	})
	require.NoError(w.t, err)
}

var here = &common.ProjectIdentifier{Name: project, Domain: domain}

// list returns the versions of a list as name@version.
func (w *world) list(r *artifact.ListArtifactsRequest) []string {
	w.t.Helper()
	r.ProjectId = here
	response, err := w.client.ListArtifacts(w.t.Context(), r)
	require.NoError(w.t, err)
	found := []string{}
	for _, one := range response.GetArtifacts() {
		found = append(found, one.GetArtifactId().GetName().GetName()+"@"+one.GetArtifactId().GetVersion())
	}
	return found
}

func filters(all ...*common.Filter) *common.ListRequest { return &common.ListRequest{Filters: all} }

func where(field string, function common.Filter_Function, values ...string) *common.Filter {
	return &common.Filter{Field: field, Function: function, Values: values}
}

func runID(run string) *common.RunIdentifier {
	return &common.RunIdentifier{Org: "o", Project: project, Domain: domain, Name: run}
}

func actionID(run, action string) *common.ActionIdentifier {
	return &common.ActionIdentifier{Run: runID(run), Name: action}
}

// launch creates a run whose task declares artifacts, with these inputs.
func (w *world) launch(run string, inputs ...*task.NamedLiteral) {
	w.t.Helper()
	w.launchWith(run, nil, inputs...)
}

func (w *world) launchWith(run string, spec *task.RunSpec, inputs ...*task.NamedLiteral) {
	w.t.Helper()
	_, err := w.run.CreateRun(w.t.Context(), &workflow.CreateRunRequest{
		Id: &workflow.CreateRunRequest_RunId{RunId: runID(run)},
		Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
			Id: &core.Identifier{Project: project, Domain: domain, Name: "t", Version: "1"}, Type: "python",
			Metadata: &core.TaskMetadata{ProducesArtifacts: true},
			Target:   &core.TaskTemplate_Container{Container: &core.Container{Image: "i"}},
		}}},
		RunSpec:      spec,
		InputWrapper: &workflow.CreateRunRequest_Inputs{Inputs: &task.Inputs{Literals: inputs}},
	})
	require.NoError(w.t, err)
}

// dir is the directory of the first attempt of an action.
func (w *world) dir(run, action string) string {
	w.t.Helper()
	storage, err := w.engine.GetActionStorage(w.t.Context(), &enginev1.GetActionStorageRequest{ActionId: actionID(run, action)})
	require.NoError(w.t, err)
	return storage.GetRunOutputBase() + action + "/1"
}

// succeed writes the outputs of a root and ends it.
func (w *world) succeed(run string, outputs *task.Outputs) {
	w.t.Helper()
	w.succeedAction(run, "a0", outputs)
}

func (w *world) succeedAction(run, action string, outputs *task.Outputs) {
	w.t.Helper()
	body, err := proto.Marshal(outputs)
	require.NoError(w.t, err)
	require.NoError(w.t, w.blobs.WriteAll(w.t.Context(), w.dir(run, action)+"/outputs.pb", body))
	response, err := w.engine.RecordTransitions(w.t.Context(), &enginev1.RecordTransitionsRequest{Transitions: []*enginev1.Transition{{
		Event: &workflow.ActionEvent{Id: actionID(run, action), Attempt: 1, Phase: common.ActionPhase_ACTION_PHASE_SUCCEEDED},
	}}})
	require.NoError(w.t, err)
	require.Equal(w.t, enginev1.TransitionOutcome_TRANSITION_OUTCOME_APPLIED, response.GetOutcomes()[0])
}

// deploy deploys an app with these inputs.
func (w *world) deploy(name string, inputs ...*app.Input) {
	w.t.Helper()
	_, err := w.apps.Create(w.t.Context(), &app.CreateRequest{App: &app.App{
		Metadata: &app.Meta{Id: &app.Identifier{Project: project, Domain: domain, Name: name}},
		Spec: &app.Spec{
			AppPayload: &app.Spec_Container{Container: &core.Container{Image: "i"}}, Inputs: &app.InputList{Items: inputs},
			DesiredState: app.Spec_DESIRED_STATE_ACTIVE,
		},
	}})
	require.NoError(w.t, err)
}

func (w *world) eventually(what string, condition func() bool) {
	w.t.Helper()
	require.Eventually(w.t, condition, 20*time.Second, 5*time.Millisecond, what)
}

func (w *world) count(query string, args ...any) (n int) {
	w.t.Helper()
	require.NoError(w.t, w.pool.QueryRow(w.t.Context(), query, args...).Scan(&n))
	return n
}

func (w *world) lineage(r *insightv1.GetLineageRequest) *insightv1.GetLineageResponse {
	w.t.Helper()
	response, err := w.insight.GetLineage(w.t.Context(), r)
	require.NoError(w.t, err)
	return response
}

func refused(t testing.TB, err error, code connect.Code, text string) {
	t.Helper()
	require.Equal(t, code, connect.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, text)
}
