package dataproxy_test

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/dataproxy"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/cluster/clusterconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy/dataproxyconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/logs/dataplane"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func TestMain(m *testing.M) { pgtest.VerifyMain(m) }

var run = ident.Run{Project: "flytesnacks", Domain: "development", Name: "r"}

func id(name string) *common.ActionIdentifier {
	return ident.Action{Run: run, Name: name}.Proto()
}

// state is what runs and the other services know. Unknown names are not found.
type state struct {
	uris     map[string]*workflow.GetActionDataURIsResponse
	details  map[string]*workflow.ActionDetails
	logs     map[string]*core.LogContext
	storage  map[string]*enginev1.GetActionStorageResponse
	tracked  map[string]*enginev1.GetActionStorageResponse // of tracked runs, by run and action
	tasks    map[string]*task.TaskSpec
	triggers map[string]*trigger.TriggerSpec
	raw      string // the raw data prefix of the run
	clusters []dataproxy.Cluster
	cluster  string                  // that runs the actions; empty means c
	base     *settings.StringSetting // the setting run.run_base_dir of the project
	admit    func(*enginev1.AdmitUploadRequest) (*enginev1.AdmitUploadResponse, error)
}

func (s *state) Clusters(context.Context) ([]dataproxy.Cluster, error) { return s.clusters, nil }

// pools adds a cluster that is in pools.
func (s *state) pools(cluster string, pools ...string) {
	s.clusters = append(s.clusters, dataproxy.Cluster{Name: cluster, Pools: pools})
}

func (s *state) GetSettings(_ context.Context, r *settings.GetSettingsRequest) (*settings.GetSettingsResponse, error) {
	if r.GetKey().GetProject() != run.Project || r.GetKey().GetDomain() != run.Domain {
		return nil, rpc.NotFound("no project %s", r.GetKey().GetProject())
	}
	resolved := &settings.Settings{Run: &settings.RunSettings{RunBaseDir: s.base}}
	return &settings.GetSettingsResponse{SettingsRecord: &settings.SettingsRecord{Settings: resolved}}, nil
}

func (s *state) GetActionDataURIs(_ context.Context, r *workflow.GetActionDataURIsRequest) (*workflow.GetActionDataURIsResponse, error) {
	if response, ok := s.uris[r.GetActionId().GetName()]; ok {
		return response, nil
	}
	return nil, rpc.NotFound("no action %s", r.GetActionId().GetName())
}

func (s *state) GetActionDetails(_ context.Context, r *workflow.GetActionDetailsRequest) (*workflow.GetActionDetailsResponse, error) {
	if details, ok := s.details[r.GetActionId().GetName()]; ok {
		return &workflow.GetActionDetailsResponse{Details: details}, nil
	}
	return nil, rpc.NotFound("no action %s", r.GetActionId().GetName())
}

func (s *state) GetActionLogContext(_ context.Context, r *workflow.GetActionLogContextRequest) (*workflow.GetActionLogContextResponse, error) {
	if logs, ok := s.logs[r.GetActionId().GetName()]; ok {
		return &workflow.GetActionLogContextResponse{LogContext: logs, Cluster: cmp.Or(s.cluster, "c")}, nil
	}
	return nil, rpc.NotFound("no logs yet")
}

func (s *state) GetRunDetails(context.Context, *workflow.GetRunDetailsRequest) (*workflow.GetRunDetailsResponse, error) {
	spec := &task.RunSpec{RawDataStorage: &task.RawDataStorage{RawDataPrefix: s.raw}}
	return &workflow.GetRunDetailsResponse{Details: &workflow.RunDetails{RunSpec: spec}}, nil
}

func (s *state) GetActionStorage(_ context.Context, r *enginev1.GetActionStorageRequest) (*enginev1.GetActionStorageResponse, error) {
	if r.GetRunSource() == workflow.RunSource_RUN_SOURCE_TRACKED {
		if storage, ok := s.tracked[r.GetActionId().GetRun().GetName()+"/"+r.GetActionId().GetName()]; ok {
			return storage, nil
		}
		return nil, rpc.NotFound("no tracked action %s", r.GetActionId().GetName())
	}
	if storage, ok := s.storage[r.GetActionId().GetName()]; ok {
		return storage, nil
	}
	return nil, rpc.NotFound("no action %s", r.GetActionId().GetName())
}

func (s *state) GetTaskDetails(_ context.Context, r *task.GetTaskDetailsRequest) (*task.GetTaskDetailsResponse, error) {
	if spec, ok := s.tasks[r.GetTaskId().GetName()+":"+r.GetTaskId().GetVersion()]; ok {
		return &task.GetTaskDetailsResponse{Details: &task.TaskDetails{Spec: spec}}, nil
	}
	return nil, rpc.NotFound("no task %s", r.GetTaskId().GetName())
}

func (s *state) GetTriggerDetails(_ context.Context, r *trigger.GetTriggerDetailsRequest) (*trigger.GetTriggerDetailsResponse, error) {
	if spec, ok := s.triggers[r.GetName().GetName()]; ok {
		return &trigger.GetTriggerDetailsResponse{Trigger: &trigger.TriggerDetails{Spec: spec}}, nil
	}
	return nil, rpc.NotFound("no trigger %s", r.GetName().GetName())
}

func (s *state) GetProject(_ context.Context, r *project.GetProjectRequest) (*project.GetProjectResponse, error) {
	if r.GetId() == "other" {
		return &project.GetProjectResponse{Project: &project.Project{Id: "other"}}, nil
	}
	if r.GetId() != run.Project {
		return nil, rpc.NotFound("no project %s", r.GetId())
	}
	return &project.GetProjectResponse{Project: &project.Project{Id: run.Project, Domains: []*project.Domain{{Id: run.Domain}}}}, nil
}

// AdmitUpload follows nothing, unless a test says otherwise.
func (s *state) AdmitUpload(_ context.Context, r *enginev1.AdmitUploadRequest) (*enginev1.AdmitUploadResponse, error) {
	if s.admit == nil {
		return &enginev1.AdmitUploadResponse{}, nil
	}
	return s.admit(r)
}

// podLogs is the executor; tail plays the log of a container.
type podLogs struct {
	enginev1connect.UnimplementedPodLogServiceHandler
	mu    sync.Mutex
	calls int // GUARDED_BY(mu)
	tail  func(ctx context.Context, call int, r *enginev1.TailContainerRequest, send func(texts ...string)) error
}

func (p *podLogs) TailContainer(ctx context.Context, r *enginev1.TailContainerRequest, stream *connect.ServerStream[enginev1.TailContainerResponse]) error {
	p.mu.Lock()
	p.calls++
	call := p.calls
	p.mu.Unlock()
	if p.tail == nil {
		return rpc.NotFound("pod %s does not exist", r.GetPod())
	}
	return p.tail(ctx, call, r, func(texts ...string) {
		_ = stream.Send(&enginev1.TailContainerResponse{Lines: logLines(texts...)})
	})
}

// fixture is the service over a real directory and fakes, its clients, and a server for signed URLs.
type fixture struct {
	t          *testing.T
	state      *state
	pods       *podLogs
	jobs       *fakeJobs
	store      *blobstore.Store
	clock      *clock.Fake
	data       dataproxyconnect.DataProxyServiceClient
	runLogs    workflowconnect.RunLogsServiceClient
	translator workflowconnect.TranslatorServiceClient
	cluster    clusterconnect.ClusterServiceClient
	code       insightv1connect.CodeServiceClient
	files      insightv1connect.FileServiceClient
	failures   insightv1connect.FailureServiceClient
	quota      enginev1connect.UploadServiceClient
}

func newFixture(t *testing.T, change ...func(*dataproxy.Config)) *fixture {
	t.Helper()
	f := &fixture{t: t, pods: &podLogs{}, clock: clock.NewFake(time.Now()), state: &state{
		tracked: map[string]*enginev1.GetActionStorageResponse{}, uris: map[string]*workflow.GetActionDataURIsResponse{}, details: map[string]*workflow.ActionDetails{},
		logs: map[string]*core.LogContext{}, storage: map[string]*enginev1.GetActionStorageResponse{},
		tasks: map[string]*task.TaskSpec{}, triggers: map[string]*trigger.TriggerSpec{},
	}}
	f.openStore()
	return f.serve(change...)
}

// openStore opens a directory whose signed URLs are served on a port of their own.
func (f *fixture) openStore() {
	f.t.Helper()
	var blobs http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { blobs.ServeHTTP(w, r) }))
	f.t.Cleanup(server.Close)
	config := blobstore.DefaultConfig()
	config.URL, config.PublicURL, config.Sync = f.t.TempDir(), server.URL, false
	var err error
	var options []blobstore.Option
	if f.clock != nil {
		options = append(options, blobstore.WithClock(f.clock))
	}
	f.store, err = blobstore.Open(f.t.Context(), config, options...)
	require.NoError(f.t, err)
	f.t.Cleanup(func() { _ = f.store.Close() })
	blobs = f.store.Handler()
}

func (f *fixture) serve(change ...func(*dataproxy.Config)) *fixture {
	f.t.Helper()
	config := dataproxy.DefaultConfig()
	for _, c := range change {
		c(&config)
	}
	chain := rpc.Interceptors(rpc.Chain{Log: zerolog.New(zerolog.NewTestWriter(f.t))})
	upstream := rpc.NewMux(chain)
	upstream.Handle(enginev1connect.NewPodLogServiceHandler(f.pods, upstream.Options()...))
	f.jobs = &fakeJobs{}
	upstream.Handle(enginev1connect.NewConnectorRegistryServiceHandler(f.jobs, upstream.Options()...))
	service, err := dataproxy.New(config, dataproxy.Deps{
		Jobs:  enginev1connect.NewConnectorRegistryServiceClient(rpc.InProcess(upstream), rpc.InProcessURL),
		Store: f.store, Runs: f.state, Tasks: f.state, Projects: f.state, Engine: f.state, Triggers: f.state, Settings: f.state, Clusters: f.state,
		PodLogs: func(cluster string) dataproxy.PodLogs {
			if cluster != "c" {
				return unlinked{}
			}
			return enginev1connect.NewPodLogServiceClient(rpc.InProcess(upstream), rpc.InProcessURL)
		},
		Clock: f.clock, Logger: zerolog.New(zerolog.NewTestWriter(f.t)),
	})
	require.NoError(f.t, err)
	mux := rpc.NewMux(chain)
	service.Mount(mux)
	client := rpc.InProcess(mux)
	f.data = dataproxyconnect.NewDataProxyServiceClient(client, rpc.InProcessURL)
	f.runLogs = workflowconnect.NewRunLogsServiceClient(client, rpc.InProcessURL)
	f.translator = workflowconnect.NewTranslatorServiceClient(client, rpc.InProcessURL)
	f.cluster = clusterconnect.NewClusterServiceClient(client, rpc.InProcessURL)
	f.code = insightv1connect.NewCodeServiceClient(client, rpc.InProcessURL)
	f.files = insightv1connect.NewFileServiceClient(client, rpc.InProcessURL)
	f.quota = enginev1connect.NewUploadServiceClient(client, rpc.InProcessURL)
	f.failures = insightv1connect.NewFailureServiceClient(client, rpc.InProcessURL)
	return f
}

func (f *fixture) write(uri string, message proto.Message) {
	f.t.Helper()
	body, err := proto.Marshal(message)
	require.NoError(f.t, err)
	require.NoError(f.t, f.store.WriteAll(f.t.Context(), uri, body))
}

// send makes a plain request, as clients do with signed URLs.
func (f *fixture) send(method, url string, body []byte, headers map[string]string) (int, string) {
	f.t.Helper()
	request, err := http.NewRequestWithContext(f.t.Context(), method, url, bytes.NewReader(body))
	require.NoError(f.t, err)
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	require.NoError(f.t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(f.t, err)
	return response.StatusCode, string(text)
}

func refused(t *testing.T, err error, field string) {
	t.Helper()
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, field)
}

func literal(name, text string) *task.NamedLiteral {
	return &task.NamedLiteral{Name: name, Value: &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{
		Value: &core.Scalar_Primitive{Primitive: &core.Primitive{Value: &core.Primitive_StringValue{StringValue: text}}},
	}}}}
}

// fakeJobs has the log of a job until its lines are sent.
type fakeJobs struct {
	enginev1connect.UnimplementedConnectorRegistryServiceHandler
	lines []*dataplane.LogLine
	asked *enginev1.TailJobRequest
}

func (j *fakeJobs) TailJob(_ context.Context, r *enginev1.TailJobRequest, out *connect.ServerStream[enginev1.TailJobResponse]) error {
	j.asked = r
	if err := out.Send(&enginev1.TailJobResponse{Lines: j.lines}); err != nil {
		return err
	}
	return rpc.NotFound("the job has ended")
}

// unlinked are the logs of a cluster whose controller is not connected.
type unlinked struct{}

func (unlinked) TailContainer(context.Context, *enginev1.TailContainerRequest) (*connect.ServerStreamForClient[enginev1.TailContainerResponse], error) {
	return nil, rpc.Unavailable(nil, "the logs of the cluster are not reachable")
}
