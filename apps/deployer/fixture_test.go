package deployer_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/apps/deployer"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/pods/logs"
	"github.com/flyte-binary/flyte-binary/pods/namespaces"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
)

const (
	waitLimit = 20 * time.Second
	look      = 10 * time.Millisecond
)

// fleet is AppFleetService with a set of apps.
type fleet struct {
	enginev1connect.UnimplementedAppFleetServiceHandler

	mu          sync.Mutex
	apps        map[string]*enginev1.DesiredApp               // GUARDED_BY(mu)
	subscribers map[chan *enginev1.WatchAppsResponse]struct{} // GUARDED_BY(mu)
	seen        map[string]*enginev1.ObservedApp              // GUARDED_BY(mu): the last report
	ended       map[string]*enginev1.ObservedReplica          // GUARDED_BY(mu): replicas whose log is kept, by name
	reports     int                                           // GUARDED_BY(mu)
	away        bool                                          // GUARDED_BY(mu)
}

func newFleet() *fleet {
	return &fleet{
		apps: map[string]*enginev1.DesiredApp{}, subscribers: map[chan *enginev1.WatchAppsResponse]struct{}{},
		seen: map[string]*enginev1.ObservedApp{}, ended: map[string]*enginev1.ObservedReplica{},
	}
}

func (f *fleet) WatchApps(ctx context.Context, _ *enginev1.WatchAppsRequest, stream *connect.ServerStream[enginev1.WatchAppsResponse]) error {
	f.mu.Lock()
	if f.away {
		f.mu.Unlock()
		return rpc.Unavailable(nil, "away")
	}
	changes := make(chan *enginev1.WatchAppsResponse, 1000)
	for _, one := range f.apps {
		changes <- &enginev1.WatchAppsResponse{Message: &enginev1.WatchAppsResponse_App{App: one}}
	}
	changes <- &enginev1.WatchAppsResponse{Message: &enginev1.WatchAppsResponse_Sentinel{}}
	f.subscribers[changes] = struct{}{}
	f.mu.Unlock()
	for {
		select {
		case message, ok := <-changes:
			if !ok {
				return rpc.Unavailable(nil, "broken")
			}
			if err := stream.Send(message); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (f *fleet) ReportApps(_ context.Context, r *enginev1.ReportAppsRequest) (*enginev1.ReportAppsResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away {
		return nil, rpc.Unavailable(nil, "away")
	}
	f.reports++
	for _, one := range r.GetApps() {
		f.seen[one.GetUid()] = one
		for _, revision := range one.GetRevisions() {
			for _, replica := range revision.GetReplicas() {
				if replica.GetLogUri() != "" {
					f.ended[replica.GetName()] = replica
				}
			}
		}
	}
	return &enginev1.ReportAppsResponse{}, nil
}

// want sets what should run of an app; told says whether subscribers are notified.
func (f *fleet) want(one *enginev1.DesiredApp, told bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.apps[one.GetUid()] = one
	f.tell(told, &enginev1.WatchAppsResponse{Message: &enginev1.WatchAppsResponse_App{App: one}})
}

func (f *fleet) drop(uid string, told bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.apps, uid)
	f.tell(told, &enginev1.WatchAppsResponse{Message: &enginev1.WatchAppsResponse_Removed{Removed: &enginev1.RemovedApp{Uid: uid}}})
}

func (f *fleet) tell(told bool, message *enginev1.WatchAppsResponse) {
	if told {
		for s := range f.subscribers {
			s <- message
		}
	}
}

// breakStreams ends every stream; away refuses calls from then on.
func (f *fleet) breakStreams(away bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.away = away
	for s := range f.subscribers {
		close(s)
		delete(f.subscribers, s)
	}
}

// revision is what was reported last of a revision; nil for nothing.
func (f *fleet) revision(uid string, number uint64) *enginev1.ObservedRevision {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, revision := range f.seen[uid].GetRevisions() {
		if revision.GetRevision() == number {
			return revision
		}
	}
	return nil
}

// memory keeps logs. Some writes fail: as many beginnings, and then as many ends, as configured.
type memory struct {
	mu        sync.Mutex
	blobs     map[string]string // GUARDED_BY(mu)
	failOpen  int               // GUARDED_BY(mu)
	failClose int               // GUARDED_BY(mu)
}

func (m *memory) fail(opens, closes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failOpen, m.failClose = opens, closes
}

func (m *memory) read(uri string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.blobs[uri]
}

var errStore = errors.New("the object store is away")

type blob struct {
	strings.Builder
	close func(text string) error
}

func (b *blob) Close() error { return b.close(b.String()) }

func (m *memory) Root() string { return "/store" }

func (m *memory) NewWriter(_ context.Context, uri string) (io.WriteCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failOpen > 0 {
		m.failOpen--
		return nil, errStore
	}
	return &blob{close: func(text string) error {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.failClose > 0 {
			m.failClose--
			return errStore
		}
		m.blobs[uri] = text
		return nil
	}}, nil
}

// values is SecretValueService with some secrets.
type values map[string]string

func (v values) GetSecretValues(_ context.Context, request *enginev1.GetSecretValuesRequest) (*enginev1.GetSecretValuesResponse, error) {
	answer := &enginev1.GetSecretValuesResponse{Searched: []string{"the organization"}}
	for _, name := range request.GetNames() {
		if value, found := v[name]; found {
			answer.Values = append(answer.Values, &enginev1.SecretValue{Name: name, Value: []byte(value)})
		} else {
			answer.Missing = append(answer.Missing, name)
		}
	}
	return answer, nil
}

// fixture is a cluster with a deployer. The tests play the controllers of Deployments.
type fixture struct {
	*kubetest.Cluster
	t       *testing.T
	kube    *rest.Config
	counter *kubetest.Counter
	fleet   *fleet
	store   *memory
	reader  *metric.ManualReader
	meter   *metric.MeterProvider
	secrets values
	config  deployer.Config
	pod     podspec.Config
	log     *journal
}

// journal is a log that can be read while it is written.
type journal struct {
	mu   sync.Mutex
	text strings.Builder // GUARDED_BY(mu)
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func newFixture(t *testing.T) *fixture {
	f := &fixture{
		Cluster: kubetest.New(t), t: t, fleet: newFleet(), store: &memory{blobs: map[string]string{}}, secrets: values{},
		config: deployer.DefaultConfig(), pod: podspec.DefaultConfig(), reader: metric.NewManualReader(), log: &journal{},
	}
	f.meter = metric.NewMeterProvider(metric.WithReader(f.reader))
	f.kube, f.counter = kubetest.Counted(f.Config)
	f.config.Recheck = 50 * time.Millisecond
	f.config.Backoff.First, f.config.Backoff.Max = 10*time.Millisecond, 100*time.Millisecond
	return f
}

// nameHash is what the names of the objects of an app have of its uid.
func nameHash(uid string) string {
	sum := sha256.Sum256([]byte(uid))
	return hex.EncodeToString(sum[:4])
}

func (f *fixture) make() *deployer.Service {
	f.t.Helper()
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	mux.Handle(enginev1connect.NewAppFleetServiceHandler(f.fleet, mux.Options()...))
	one, err := deployer.New(f.config, deployer.Deps{
		Kube: f.kube, Fleet: enginev1connect.NewAppFleetServiceClient(rpc.InProcess(mux), rpc.InProcessURL), Store: f.store,
		Secrets: f.secrets, Pod: f.pod, Logs: logs.DefaultConfig(), Namespace: namespaces.Template(f.Namespace),
		Namespaces: namespaces.Config{Create: true}, Installation: f.Namespace, Logger: zerolog.New(io.MultiWriter(zerolog.NewTestWriter(f.t), f.log)),
		Meter: f.meter,
	})
	require.NoError(f.t, err)
	return one
}

// start starts a deployer that ends with the test; stop ends it before.
func (f *fixture) start() (stop func()) {
	f.t.Helper()
	one := f.make()
	require.NoError(f.t, one.Start(f.t.Context()))
	stop = func() { require.NoError(f.t, one.Stop(context.Background())) }
	f.t.Cleanup(stop)
	return stop
}

// hello is an app whose revisions differ in a variable.
func hello(uid string, revisions ...*enginev1.DesiredRevision) *enginev1.DesiredApp {
	result := &enginev1.DesiredApp{
		Uid: uid, Id: &app.Identifier{Org: "local", Project: "p", Domain: "d", Name: "hello"}, Revisions: revisions, Version: 1,
	}
	if len(revisions) > 0 {
		result.Serving = revisions[0].GetRevision()
	}
	return result
}

func revision(number uint64, replicas uint32, change ...func(*app.Spec)) *enginev1.DesiredRevision {
	spec := &app.Spec{AppPayload: &app.Spec_Container{Container: &core.Container{
		Image: "image", Command: []string{"serve"}, Args: []string{"--raw", "{{.rawOutputDataPrefix}}"},
		Env:   []*core.KeyValuePair{{Key: "REVISION", Value: strconv.FormatUint(number, 10)}},
		Ports: []*core.ContainerPort{{ContainerPort: 8080}},
	}}}
	for _, one := range change {
		one(spec)
	}
	return &enginev1.DesiredRevision{Revision: number, Spec: spec, Replicas: replicas, Port: 8080}
}

// deployments are those of the namespace by revision, as "REVISION×REPLICAS", joined.
func (f *fixture) deployments() string {
	var parts []string
	for _, one := range f.list() {
		parts = append(parts, fmt.Sprintf("%s×%d", one.Labels["flyte.org/app-revision"], *one.Spec.Replicas))
	}
	slices.Sort(parts)
	return strings.Join(parts, " ")
}

func (f *fixture) list() []appsv1.Deployment {
	var found appsv1.DeploymentList
	require.NoError(f.t, f.Client.List(context.Background(), &found, client.InNamespace(f.Namespace)))
	return found.Items
}

func (f *fixture) awaitDeployments(want string) {
	f.t.Helper()
	require.Eventually(f.t, func() bool { return f.deployments() == want }, waitLimit, look, "want %q, have %q", want, f.deployments())
}

func (f *fixture) deployment(number uint64) *appsv1.Deployment {
	for _, one := range f.list() {
		if one.Labels["flyte.org/app-revision"] == strconv.FormatUint(number, 10) {
			return &one
		}
	}
	f.t.Fatalf("revision %d has no Deployment", number)
	return nil
}

// replica creates a pod of a revision as its ReplicaSet would, and lets it run.
func (f *fixture) replica(number uint64, name string, change ...func(*corev1.Pod)) *corev1.Pod {
	f.t.Helper()
	template := f.deployment(number).Spec.Template
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: f.Namespace, Name: name, Labels: template.Labels, Annotations: template.Annotations,
	}, Spec: template.Spec}
	pod, err := f.Clientset.CoreV1().Pods(f.Namespace).Create(context.Background(), pod, metav1.CreateOptions{})
	require.NoError(f.t, err)
	return f.status(pod, func(pod *corev1.Pod) {
		pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, "10.1.2.3"
		pod.Status.PodIPs = []corev1.PodIP{{IP: "10.1.2.3"}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "app", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
		}}
		for _, one := range change {
			one(pod)
		}
	})
}

func (f *fixture) status(pod *corev1.Pod, change func(*corev1.Pod)) *corev1.Pod {
	f.t.Helper()
	change(pod)
	pod, err := f.Clientset.CoreV1().Pods(f.Namespace).UpdateStatus(context.Background(), pod, metav1.UpdateOptions{})
	require.NoError(f.t, err)
	return pod
}

// awaitReport waits until the report of a revision has what is wanted.
func (f *fixture) awaitReport(uid string, number uint64, what string, holds func(*enginev1.ObservedRevision) bool) *enginev1.ObservedRevision {
	f.t.Helper()
	var last *enginev1.ObservedRevision
	require.Eventually(f.t, func() bool {
		last = f.fleet.revision(uid, number)
		return last != nil && holds(last)
	}, waitLimit, look, "%s: %v", what, last)
	return last
}
