package apps_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/apps"
	"github.com/flyte-binary/flyte-binary/apps/store"
	"github.com/flyte-binary/flyte-binary/clusters/states"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app/appconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/manager/clusterview"
	"github.com/flyte-binary/flyte-binary/runs/placement"
)

const (
	projectID  = "flytesnacks"
	archivedID = "attic"
	domainID   = "development"
	// wait bounds what a test waits for; it is long, since the machine may be busy.
	wait = 20 * time.Second
)

var noon = time.Date(2026, time.June, 1, 12, 0, 0, 0, time.UTC)

// fixture is the service behind its real handlers, on a database of the test and a clock that the test moves.
type fixture struct {
	t       testing.TB
	pool    *pgxpool.Pool
	clock   *clock.Fake
	blobs   *blobstore.Store
	change  func(*apps.Config)
	pods    *pods
	states  *clusters            // nil for an installation that does not know its clusters
	reader  *metric.ManualReader // of all replicas of the service
	meter   *metric.MeterProvider
	service *apps.Service
	scale   func(context.Context) error // a pass of an autoscaler
	mux     http.Handler
	api     appconnect.AppServiceClient
	logs    appconnect.AppLogsServiceClient
	fleet   enginev1connect.AppFleetServiceClient
	routes  enginev1connect.AppRouteServiceClient
	insight insightv1connect.AppInsightServiceClient
}

func newFixture(t testing.TB, change func(*apps.Config)) *fixture {
	return newFixtureOn(t, nil, change)
}

// newFixtureOn knows the clusters of the installation.
func newFixtureOn(t testing.TB, known *clusters, change func(*apps.Config)) *fixture {
	t.Helper()
	f := &fixture{states: known, t: t, pool: pgtest.Schemas(t, store.Schema()), clock: clock.NewFake(noon), change: change, pods: &pods{}, reader: metric.NewManualReader()}
	f.meter = metric.NewMeterProvider(metric.WithReader(f.reader))
	config := blobstore.DefaultConfig()
	config.URL, config.PublicURL, config.Sync = t.TempDir(), "http://localhost", false
	var err error
	f.blobs, err = blobstore.Open(t.Context(), config)
	require.NoError(t, err)
	f.service, f.mux = f.replica()
	f.scale = f.service.Passes()
	f.connect(f.mux)
	return f
}

func (f *fixture) connect(mux http.Handler) {
	client := rpc.InProcess(mux)
	f.api = appconnect.NewAppServiceClient(client, rpc.InProcessURL)
	f.logs = appconnect.NewAppLogsServiceClient(client, rpc.InProcessURL)
	f.fleet = enginev1connect.NewAppFleetServiceClient(client, rpc.InProcessURL)
	f.routes = enginev1connect.NewAppRouteServiceClient(client, rpc.InProcessURL)
	f.insight = insightv1connect.NewAppInsightServiceClient(client, rpc.InProcessURL)
}

// replica is a service that shares the database and runs until the test ends.
func (f *fixture) replica() (*apps.Service, http.Handler) {
	f.t.Helper()
	config := apps.DefaultConfig()
	config.Lease = 100_000 * time.Hour    // the clock jumps, and would end it
	config.Interval = 100_000 * time.Hour // only the test runs passes: a background pass could read loads before a clock jump and decide after it
	if f.change != nil {
		f.change(&config)
	}
	var known apps.Clusters
	if f.states != nil {
		f.states.now = f.clock.Now
		known = clusterview.Apps{
			States: states.NewReader(f.states, f.clock.Now), Policy: placement.New(placement.DefaultConfig()), LostAfter: 10 * time.Minute, Clock: f.clock,
		}
	}
	service, err := apps.New(config, apps.Deps{
		Clusters: known, Settle: 20 * time.Second,
		Pool: f.pool, Projects: projects{}, Blobs: f.blobs, PodLogs: func(string) apps.PodLogs { return f.pods },
		Addresses: apps.Addresses{PublicURL: "http://localhost:8090", Domain: "localhost"}, Clock: f.clock, Logger: zerolog.Nop(),
		Meter: f.meter,
	})
	require.NoError(f.t, err)
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{Log: zerolog.New(zerolog.NewTestWriter(f.t))}))
	service.Mount(mux)
	require.NoError(f.t, service.Start(f.t.Context()))
	f.t.Cleanup(func() { require.NoError(f.t, service.Stop(context.WithoutCancel(f.t.Context()))) })
	return service, mux
}

// projects has one project that is open and one that is archived, with one domain.
type projects struct{}

func (projects) GetProject(_ context.Context, r *project.GetProjectRequest) (*project.GetProjectResponse, error) {
	found := &project.Project{Id: r.GetId(), Domains: []*project.Domain{{Id: domainID}}}
	switch r.GetId() {
	case projectID:
	case archivedID:
		found.State = project.ProjectState_PROJECT_STATE_ARCHIVED
	default:
		return nil, rpc.NotFound("project %s does not exist", r.GetId())
	}
	return &project.GetProjectResponse{Project: found}, nil
}

// pods has the logs of pods.
type pods struct {
	mu   sync.Mutex
	tail func(context.Context, *enginev1.TailContainerRequest) (*connect.ServerStreamForClient[enginev1.TailContainerResponse], error)
}

func (p *pods) TailContainer(ctx context.Context, r *enginev1.TailContainerRequest) (*connect.ServerStreamForClient[enginev1.TailContainerResponse], error) {
	p.mu.Lock()
	tail := p.tail
	p.mu.Unlock()
	if tail == nil {
		return nil, rpc.NotFound("pod %s does not exist", r.GetPod())
	}
	return tail(ctx, r)
}

func id(name string) *app.Identifier {
	return &app.Identifier{Project: projectID, Domain: domainID, Name: name}
}

// command is an app that takes its port from its arguments, with one or no replica.
func command(name string, env ...string) *app.App {
	container := &core.Container{
		Image: "image:v1", Args: []string{"python", "-m", "http.server", "8080"}, Ports: []*core.ContainerPort{{ContainerPort: 8080, Name: "http"}},
		Resources: &core.Resources{Requests: []*core.Resources_ResourceEntry{{Name: core.Resources_CPU, Value: "500m"}}},
	}
	for i := 0; i+1 < len(env); i += 2 {
		container.Env = append(container.Env, &core.KeyValuePair{Key: env[i], Value: env[i+1]})
	}
	return &app.App{
		Metadata: &app.Meta{Id: id(name), Labels: map[string]string{"team": "data"}},
		Spec: &app.Spec{
			AppPayload: &app.Spec_Container{Container: container}, Ingress: &app.IngressConfig{}, DesiredState: app.Spec_DESIRED_STATE_ACTIVE,
			Autoscaling: &app.AutoscalingConfig{Replicas: &app.Replicas{Max: 1}}, ClusterPool: "default",
		},
	}
}

func (f *fixture) create(a *app.App) *app.App {
	f.t.Helper()
	answer, err := f.api.Create(f.t.Context(), &app.CreateRequest{App: a})
	require.NoError(f.t, err)
	return answer.GetApp()
}

func (f *fixture) get(name string) *app.App {
	f.t.Helper()
	answer, err := f.api.Get(f.t.Context(), &app.GetRequest{Identifier: &app.GetRequest_AppId{AppId: id(name)}})
	require.NoError(f.t, err)
	return answer.GetApp()
}

func (f *fixture) update(a *app.App) *app.App {
	f.t.Helper()
	answer, err := f.api.Update(f.t.Context(), &app.UpdateRequest{App: a})
	require.NoError(f.t, err)
	return answer.GetApp()
}

// status is the last condition of an app: its status, substate and message.
func (f *fixture) status(name string) string { return statusOf(f.get(name)) }

func statusOf(a *app.App) string {
	conditions := a.GetStatus().GetConditions()
	if len(conditions) == 0 {
		return "none"
	}
	last := conditions[len(conditions)-1]
	text := strings.TrimPrefix(last.GetDeploymentStatus().String(), "DEPLOYMENT_STATUS_")
	if last.GetSubstate() != 0 {
		text += "/" + last.GetSubstate().String()
	}
	return text
}

func (f *fixture) message(name string) string {
	conditions := f.get(name).GetStatus().GetConditions()
	return conditions[len(conditions)-1].GetMessage()
}

// pass moves the clock and makes a pass of the autoscaler.
func (f *fixture) pass(d time.Duration) {
	f.t.Helper()
	f.clock.Step(d)
	require.NoError(f.t, f.scale(f.t.Context()))
}

// deployer is a double of a deployer: it keeps what its cluster should run, and reports what the test says.
type deployer struct {
	f       *fixture
	cluster string
	cancel  context.CancelFunc
	done    chan struct{}

	mu      sync.Mutex
	desired map[string]*enginev1.DesiredApp // by uid
	synced  bool
	removed []string
}

func (f *fixture) deployer(cluster string, shared bool) *deployer {
	f.t.Helper()
	return f.deployerOf(&enginev1.WatchAppsRequest{Cluster: cluster, SharedNetwork: shared})
}

func (f *fixture) deployerOf(request *enginev1.WatchAppsRequest) *deployer {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	d := &deployer{f: f, cluster: request.GetCluster(), cancel: cancel, done: make(chan struct{}), desired: map[string]*enginev1.DesiredApp{}}
	stream, err := f.fleet.WatchApps(ctx, request)
	require.NoError(f.t, err)
	go func() {
		defer close(d.done)
		defer stream.Close() //nolint:errcheck // nothing is written
		for stream.Receive() {
			d.take(stream.Msg())
		}
	}()
	f.t.Cleanup(d.stop)
	require.Eventually(f.t, func() bool { d.mu.Lock(); defer d.mu.Unlock(); return d.synced }, wait, time.Millisecond)
	return d
}

func (d *deployer) stop() {
	d.cancel()
	<-d.done
}

func (d *deployer) take(m *enginev1.WatchAppsResponse) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch m := m.GetMessage().(type) {
	case *enginev1.WatchAppsResponse_App:
		d.desired[m.App.GetUid()] = m.App
	case *enginev1.WatchAppsResponse_Removed:
		delete(d.desired, m.Removed.GetUid())
		d.removed = append(d.removed, m.Removed.GetUid())
	case *enginev1.WatchAppsResponse_Sentinel:
		d.synced = true
	}
}

// of is what should run of an app; nil for nothing.
func (d *deployer) of(name string) *enginev1.DesiredApp {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.desired {
		if a.GetId().GetName() == name {
			return proto.CloneOf(a)
		}
	}
	return nil
}

// wants is what should run of an app, such as "1:1 2:0 →1".
func (d *deployer) wants(name string) string {
	a := d.of(name)
	if a == nil {
		return "nothing"
	}
	var text strings.Builder
	for _, r := range a.GetRevisions() {
		fmt.Fprintf(&text, "%d:%d ", r.GetRevision(), r.GetReplicas())
	}
	return text.String() + fmt.Sprintf("→%d", a.GetServing())
}

func (d *deployer) eventually(name, wants string) {
	d.f.t.Helper()
	require.Eventually(d.f.t, func() bool { return d.wants(name) == wants }, wait, time.Millisecond, "want %s, have %s", wants, d.wants(name))
}

// gone has the uids of removed apps.
func (d *deployer) gone() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.removed)
}

// replicas are some of a revision, with addresses.
func replicas(revision uint64, count int, ready bool) *enginev1.ObservedRevision {
	r := &enginev1.ObservedRevision{Revision: revision, Wanted: uint32(count)}
	for i := range count {
		r.Replicas = append(r.Replicas, &enginev1.ObservedReplica{
			Name: fmt.Sprintf("pod-%d-%d", revision, i), Address: fmt.Sprintf("10.0.%d.%d:8080", revision, i), Ready: ready, Phase: "Running", Container: "app",
		})
	}
	return r
}

func failing(revision uint64, message string) *enginev1.ObservedRevision {
	r := replicas(revision, 1, false)
	r.Problem = &enginev1.AppProblem{Substate: app.Status_IMAGE_PULL_ERROR, Message: message, Permanent: true}
	return r
}

// report reports all that the cluster has of an app.
func (d *deployer) report(name string, revisions ...*enginev1.ObservedRevision) {
	d.f.t.Helper()
	a := d.of(name)
	require.NotNil(d.f.t, a, "the deployer knows %s", name)
	d.send(&enginev1.ObservedApp{Uid: a.GetUid(), Applied: a.GetVersion(), Namespace: "ns", Revisions: revisions})
}

func (d *deployer) send(observed ...*enginev1.ObservedApp) []string {
	d.f.t.Helper()
	answer, err := d.f.fleet.ReportApps(d.f.t.Context(), &enginev1.ReportAppsRequest{Cluster: d.cluster, Apps: observed})
	require.NoError(d.f.t, err)
	return answer.GetUnknown()
}

func refused(t testing.TB, err error, code connect.Code, text string) {
	t.Helper()
	require.Equal(t, code, connect.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, text)
}
