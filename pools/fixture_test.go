package pools_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/clusters/states"
	"github.com/flyte-binary/flyte-binary/events"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	workerv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1/workerv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/memhttp"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/clusterview"
	"github.com/flyte-binary/flyte-binary/pools"
	"github.com/flyte-binary/flyte-binary/pools/store"
	"github.com/flyte-binary/flyte-binary/runs"
	runstore "github.com/flyte-binary/flyte-binary/runs/store"
)

const (
	// wait bounds what a test waits for; it is long, since the machine may be busy.
	wait = 10 * time.Second
	tick = 5 * time.Millisecond
)

// fixture is the workers service alongside the real runs service, on one database.
type fixture struct {
	t        testing.TB
	db       *pgxpool.Pool
	blobs    *blobstore.Store
	config   pools.Config
	mux      *rpc.Mux
	runs     workflowconnect.RunServiceClient
	internal workflowconnect.InternalRunServiceClient
	engine   enginev1connect.EngineServiceClient
	sink     *events.Sink

	reader  *metric.ManualReader
	insight insightv1connect.InsightServiceClient
	pools   insightv1connect.PoolInsightServiceClient
	waits   *waits
	fleet   enginev1connect.WorkerFleetServiceClient
	work    workerv1connect.WorkerServiceClient
	outside memhttp.Client // as a client from the network
	stop    func()         // the workers service
	closed  pools.Clusters // nil for one cluster
}

func newFixture(t testing.TB, change func(*pools.Config)) *fixture {
	return newFixtureOn(t, nil, change)
}

// newFixtureOn has two clusters, or one if clusters is nil.
func newFixtureOn(t testing.TB, clusters *clusters, change func(*pools.Config)) *fixture {
	t.Helper()
	f := &fixture{
		t: t, db: pgtest.Schemas(t, runstore.Schema(), store.Schema()), config: pools.DefaultConfig(), reader: metric.NewManualReader(), waits: &waits{},
	}
	f.config.SystemBackoff, f.config.KeeperLease = 10*time.Millisecond, 3*time.Second
	if change != nil {
		change(&f.config)
	}
	blobs := blobstore.DefaultConfig()
	blobs.URL, blobs.PublicURL, blobs.Sync = t.TempDir(), "http://localhost", false
	var err error
	f.blobs, err = blobstore.Open(t.Context(), blobs)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.blobs.Close()) })
	about, deps := runs.DefaultConfig(), runs.Deps{Pool: f.db, Blobs: f.blobs, Launch: runs.Launch{WorkerPools: true}, Peers: runs.Peers{Workers: f.waits}, Logger: zerolog.Nop()}
	if clusters != nil {
		about.Clusters.Poll, about.Clusters.Settle = 100*time.Millisecond, 0
		reader := states.NewReader(clusters, time.Now)
		deps.Clusters, deps.Lost = clusterview.Placeable{States: reader, Clock: clock.System{}}, runs.Lost{Clusters: reader, MaxSystemFailures: 3}
		f.closed = clusterview.Closed{States: reader, Clock: clock.System{}}
	}
	service, err := runs.New(about, deps)
	require.NoError(t, err)
	require.NoError(t, service.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, service.Stop(context.WithoutCancel(t.Context()))) })
	f.mux = rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	service.Mount(f.mux)
	client := rpc.InProcess(f.mux)
	f.runs = workflowconnect.NewRunServiceClient(client, rpc.InProcessURL)
	f.internal = workflowconnect.NewInternalRunServiceClient(client, rpc.InProcessURL)
	f.insight = insightv1connect.NewInsightServiceClient(client, rpc.InProcessURL)
	f.engine = enginev1connect.NewEngineServiceClient(client, rpc.InProcessURL)
	reports, err := events.New(events.DefaultConfig(), events.Deps{Engine: f.engine, Logger: zerolog.Nop()})
	require.NoError(t, err)
	require.NoError(t, reports.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, reports.Stop(context.WithoutCancel(t.Context()))) })
	f.sink = reports.Sink()
	var mux http.Handler
	mux, f.stop = f.replica()
	f.connect(mux)
	return f
}

// waits is the client of a workers service that is made after the runs service.
type waits struct {
	enginev1connect.WorkerPoolServiceClient
}

// replica starts a workers service.
func (f *fixture) replica() (mux http.Handler, stop func()) { return f.replicaAt(clock.System{}) }

func (f *fixture) replicaAt(c clock.Clock) (mux http.Handler, stop func()) {
	f.t.Helper()
	reader := f.reader // of the first replica
	if f.pools != nil {
		reader = metric.NewManualReader()
	}
	service, err := pools.New(f.config, pools.Deps{
		Pool: f.db, Engine: f.engine, Clusters: f.closed, Sink: f.sink, Store: f.blobs, Logger: zerolog.New(zerolog.NewTestWriter(f.t)),
		Meter: metric.NewMeterProvider(metric.WithReader(reader)), Clock: c,
	})
	require.NoError(f.t, err)
	require.NoError(f.t, service.Start(f.t.Context()))
	var once sync.Once
	stop = func() {
		once.Do(func() { require.NoError(f.t, service.Stop(context.WithoutCancel(f.t.Context()))) })
	}
	f.t.Cleanup(stop)
	served := rpc.NewMux(rpc.Interceptors(rpc.Chain{Authenticator: service.Workers()}))
	service.Mount(served)
	return served, stop
}

func (f *fixture) connect(mux http.Handler) {
	client := rpc.InProcess(mux)
	f.waits.WorkerPoolServiceClient = enginev1connect.NewWorkerPoolServiceClient(client, rpc.InProcessURL)
	f.pools = insightv1connect.NewPoolInsightServiceClient(client, rpc.InProcessURL)
	f.fleet = enginev1connect.NewWorkerFleetServiceClient(client, rpc.InProcessURL)
	f.outside = memhttp.Client{Handler: mux, Values: func(context.Context) context.Context { return context.Background() }}
	f.work = workerv1connect.NewWorkerServiceClient(f.outside, rpc.InProcessURL)
}

// jumpingClock is the system's clock with another time of day.
type jumpingClock struct {
	clock.System
	by atomic.Int64
}

func (c *jumpingClock) Now() time.Time { return c.System.Now().Add(time.Duration(c.by.Load())) }

func (c *jumpingClock) jump(by time.Duration) { c.by.Add(int64(by)) }

// success is the transition to the success of an attempt.
func (f *fixture) success(a *workerv1.Assignment) *enginev1.Transition {
	return &enginev1.Transition{Event: &workflow.ActionEvent{
		Id: a.GetAction(), Attempt: a.GetId().GetAttempt(), Phase: common.ActionPhase_ACTION_PHASE_SUCCEEDED, UpdatedTime: timestamppb.Now(),
		Outputs: &task.OutputReferences{OutputUri: f.dir(a) + "/" + blobpath.OutputsFile},
	}}
}

// retried is the report that the task failed in an attempt and is retried.
func retried(a *workerv1.Assignment, attempt uint32) []*enginev1.Transition {
	return []*enginev1.Transition{
		{Event: &workflow.ActionEvent{
			Id: a.GetAction(), Attempt: attempt, Phase: common.ActionPhase_ACTION_PHASE_FAILED, UpdatedTime: timestamppb.Now(),
			ErrorInfo: &workflow.ErrorInfo{Code: "ValueError", Kind: workflow.ErrorInfo_KIND_USER},
		}},
		{Event: &workflow.ActionEvent{
			Id: a.GetAction(), Attempt: attempt + 1, Phase: common.ActionPhase_ACTION_PHASE_QUEUED, UpdatedTime: timestamppb.Now(),
		}},
	}
}

func runID(name string) *common.RunIdentifier {
	return &common.RunIdentifier{Project: "flytesnacks", Domain: "development", Name: name}
}

func actionID(run, name string) *common.ActionIdentifier {
	return &common.ActionIdentifier{Run: runID(run), Name: name}
}

// reusable is a task of a reusable environment with outputs.
func reusable(change ...func(*core.TaskTemplate)) *task.TaskSpec {
	custom, _ := structpb.NewStruct(map[string]any{"name": "env", "version": "v1"})
	template := &core.TaskTemplate{
		Id: &core.Identifier{Name: "env.f", Version: "v1", Project: "flytesnacks", Domain: "development"}, Type: "actor", Custom: custom,
		ReusePolicy: &core.ReusePolicy{MinReplicas: 1, MaxReplicas: 2, Concurrency: 1},
		Interface: &core.TypedInterface{Outputs: &core.VariableMap{Variables: []*core.VariableEntry{{Key: "o0", Value: &core.Variable{
			Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_INTEGER}},
		}}}}},
		Metadata: &core.TaskMetadata{},
		Target: &core.TaskTemplate_Container{Container: &core.Container{
			Image: "image", Args: []string{"a0", "--inputs", "{{.input}}", "--outputs-path", "{{.outputPrefix}}", "--run-name", "{{.runName}}", "--name", "{{.actionName}}"},
		}},
	}
	for _, do := range change {
		do(template)
	}
	return &task.TaskSpec{TaskTemplate: template, Environment: &task.Environment{Name: "env"}}
}

// policy changes the policy of a reusable task.
func policy(least, most, concurrency int32) func(*core.TaskTemplate) {
	return func(t *core.TaskTemplate) {
		t.ReusePolicy.MinReplicas, t.ReusePolicy.MaxReplicas, t.ReusePolicy.Concurrency = least, most, concurrency
	}
}

// run creates a run of an ordinary task, to have children.
func (f *fixture) run(name string) {
	f.t.Helper()
	f.runOf(name, &task.TaskSpec{TaskTemplate: &core.TaskTemplate{Id: &core.Identifier{Name: "env.parent", Version: "v1"}, Type: "python"}})
}

func (f *fixture) runOf(name string, spec *task.TaskSpec) {
	f.t.Helper()
	_, err := f.runs.CreateRun(f.t.Context(), &workflow.CreateRunRequest{
		Id:   &workflow.CreateRunRequest_RunId{RunId: runID(name)},
		Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: spec},
	})
	require.NoError(f.t, err)
}

func (f *fixture) child(run, parent, name string, spec *task.TaskSpec) {
	f.t.Helper()
	answer, err := f.internal.RecordAction(f.t.Context(), &workflow.RecordActionRequest{
		ActionId: actionID(run, name), Parent: parent, InputUri: f.blobs.Root() + "/flytesnacks/development/in/" + name + "/inputs.pb",
		Spec: &workflow.RecordActionRequest_Task{Task: &workflow.TaskAction{Spec: spec}},
	})
	require.NoError(f.t, err)
	require.Zero(f.t, answer.GetStatus().GetCode(), answer.GetStatus().GetMessage())
}

func (f *fixture) details(run, action string) *workflow.ActionDetails {
	f.t.Helper()
	answer, err := f.runs.GetActionDetails(f.t.Context(), &workflow.GetActionDetailsRequest{ActionId: actionID(run, action)})
	require.NoError(f.t, err)
	return answer.GetDetails()
}

func (f *fixture) phase(run, action string) common.ActionPhase {
	f.t.Helper()
	return f.details(run, action).GetStatus().GetPhase()
}

func (f *fixture) eventually(what string, is func() bool) {
	f.t.Helper()
	require.Eventually(f.t, is, wait, tick, what)
}

func (f *fixture) reaches(run, action string, phase common.ActionPhase) {
	f.t.Helper()
	f.eventually(fmt.Sprintf("%s/%s is %s", run, action, phase), func() bool { return f.phase(run, action) == phase })
}

func (f *fixture) count(query string, args ...any) (n int) {
	f.t.Helper()
	require.NoError(f.t, f.db.QueryRow(f.t.Context(), query, args...).Scan(&n))
	return n
}

// desired are the ids of the workers that should run.
func (f *fixture) desired() []string { return f.desiredOn("") }

func (f *fixture) desiredOn(cluster string) []string {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	defer cancel()
	stream, err := f.fleet.WatchWorkers(ctx, &enginev1.WatchWorkersRequest{Cluster: cluster})
	require.NoError(f.t, err)
	defer func() { _ = stream.Close() }()
	var ids []string
	for stream.Receive() {
		if stream.Msg().GetSentinel() != nil {
			return ids
		}
		ids = append(ids, stream.Msg().GetWorker().GetId())
	}
	require.NoError(f.t, stream.Err())
	return nil
}

func (f *fixture) desiredReach(n int) []string {
	f.t.Helper()
	var ids []string
	f.eventually(fmt.Sprintf("%d workers are wanted", n), func() bool {
		ids = f.desired()
		return len(ids) == n
	})
	return ids
}

// fake is a worker program that does what a test says.
type fake struct {
	f           *fixture
	id, token   string
	incarnation string
	slots       uint32
	stream      *connect.BidiStreamForClientSimple[workerv1.WorkRequest, workerv1.WorkResponse]
	messages    chan *workerv1.WorkResponse
	failure     chan error
	running     map[int64]*workerv1.Running
	ended       map[int64]*workerv1.Ended
}

// start starts the process of a wanted worker.
func (f *fixture) start(id string) *fake {
	f.t.Helper()
	answer, err := f.fleet.IssueWorkerToken(f.t.Context(), &enginev1.IssueWorkerTokenRequest{Id: id})
	require.NoError(f.t, err)
	w := &fake{f: f, id: id, token: answer.GetToken(), incarnation: "i-" + id, slots: 1, running: map[int64]*workerv1.Running{}, ended: map[int64]*workerv1.Ended{}}
	w.connect()
	return w
}

// connect opens a session.
func (w *fake) connect() {
	w.f.t.Helper()
	ctx, call := connect.NewClientContext(w.f.t.Context())
	call.RequestHeader().Set("Authorization", "Bearer "+w.token)
	var err error
	w.stream, err = w.f.work.Work(ctx)
	require.NoError(w.f.t, err)
	w.messages, w.failure = make(chan *workerv1.WorkResponse, 100), make(chan error, 1)
	hello := &workerv1.Hello{WorkerId: w.id, Incarnation: w.incarnation, State: w.state()}
	_ = w.stream.Send(&workerv1.WorkRequest{Message: &workerv1.WorkRequest_Hello{Hello: hello}})
	stream, messages, failed := w.stream, w.messages, w.failure
	go func() {
		for {
			m, err := stream.Receive()
			if err != nil {
				failed <- err
				return
			}
			messages <- m
		}
	}()
	w.f.t.Cleanup(func() { _ = stream.CloseRequest(); _ = stream.CloseResponse() })
}

// cut breaks the session.
func (w *fake) cut() {
	_ = w.stream.CloseRequest()
	_ = w.stream.CloseResponse()
}

// leave ends the process of a worker that has nothing left.
func (w *fake) leave() {
	w.f.t.Helper()
	w.slots = 0
	w.beat()
	_ = w.stream.CloseRequest()
	require.ErrorIs(w.f.t, <-w.failure, io.EOF)
}

func (w *fake) state() *workerv1.Heartbeat {
	beat := &workerv1.Heartbeat{Slots: w.slots}
	for _, r := range w.running {
		beat.Running = append(beat.Running, proto.CloneOf(r))
	}
	for _, e := range w.ended {
		beat.Ended = append(beat.Ended, proto.CloneOf(e))
	}
	return beat
}

func (w *fake) beat() {
	w.f.t.Helper()
	require.NoError(w.f.t, w.stream.Send(&workerv1.WorkRequest{Message: &workerv1.WorkRequest_Heartbeat{Heartbeat: w.state()}}))
}

// next is the next message other than a lease.
func (w *fake) next() *workerv1.WorkResponse {
	w.f.t.Helper()
	for {
		select {
		case m := <-w.messages:
			if m.GetLease() == nil {
				return m
			}
		case err := <-w.failure:
			w.f.t.Fatalf("the session of %s ended: %v", w.id, err)
		case <-time.After(wait):
			w.f.t.Fatalf("worker %s hears nothing", w.id)
		}
	}
}

// take waits for an assignment and begins it.
func (w *fake) take() *workerv1.Assignment {
	w.f.t.Helper()
	a := w.next().GetAssignment()
	require.NotNil(w.f.t, a)
	w.running[a.GetId().GetUid()] = &workerv1.Running{Id: a.GetId(), StartedAt: timestamppb.Now()}
	w.beat()
	return a
}

// succeed writes outputs and ends the process of an attempt.
func (w *fake) succeed(a *workerv1.Assignment) {
	w.f.t.Helper()
	w.f.outputs(a)
	w.end(a, workerv1.End_END_EXITED, 0)
}

// end ends the process of an attempt and waits until the server knows.
func (w *fake) end(a *workerv1.Assignment, how workerv1.End, code int32) {
	w.f.t.Helper()
	w.finish(a, how, code)
	w.acknowledged(a)
}

func (w *fake) finish(a *workerv1.Assignment, how workerv1.End, code int32) {
	w.f.t.Helper()
	uid := a.GetId().GetUid()
	end := &workerv1.Ended{Id: a.GetId(), StartedAt: w.running[uid].GetStartedAt(), EndedAt: timestamppb.Now(), End: how, Code: code}
	end.Warm, end.SlowStart = w.running[uid].GetWarm(), w.running[uid].GetSlowStart()
	delete(w.running, uid)
	w.ended[uid] = end
	w.beat()
}

// finishLater ends the process of an attempt, which the next message says.
func (w *fake) finishLater(a *workerv1.Assignment, how workerv1.End) {
	w.ended[a.GetId().GetUid()] = &workerv1.Ended{Id: a.GetId(), EndedAt: timestamppb.Now(), End: how}
}

func (w *fake) acknowledged(a *workerv1.Assignment) {
	w.f.t.Helper()
	m := w.next()
	ids := m.GetAcknowledged().GetIds()
	require.Len(w.f.t, ids, 1, "%v", m)
	require.True(w.f.t, proto.Equal(a.GetId(), ids[0]), "%v", ids)
	delete(w.ended, a.GetId().GetUid())
}

func (f *fixture) dir(a *workerv1.Assignment) string {
	for i, arg := range a.GetArgs() {
		if arg == "--outputs-path" {
			return a.GetArgs()[i+1]
		}
	}
	return ""
}

func (f *fixture) outputs(a *workerv1.Assignment) {
	f.t.Helper()
	require.NoError(f.t, f.blobs.WriteAll(f.t.Context(), f.dir(a)+"/"+blobpath.OutputsFile, []byte{}))
}

// raise writes the error document of an attempt.
func (f *fixture) raise(a *workerv1.Assignment, kind core.ContainerError_Kind) {
	f.t.Helper()
	body, err := proto.Marshal(&core.ErrorDocument{Error: &core.ContainerError{Code: "ValueError", Message: "no", Kind: kind}})
	require.NoError(f.t, err)
	require.NoError(f.t, f.blobs.WriteAll(f.t.Context(), f.dir(a)+"/"+blobpath.ErrorFile, body))
}
