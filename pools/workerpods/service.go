// Package workerpods runs the workers of reusable environments on a cluster: one pod for each worker that the workers service
// wants, and no other. It is level-triggered and remembers nothing over a restart. The pod of a worker is what the pod of the
// first action of its pool would be, with our program in place of the task's command.
package workerpods

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/wire/stream"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/pods/attemptsecret"
	"github.com/flyte-binary/flyte-binary/pods/namespaces"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
	"github.com/flyte-binary/flyte-binary/pods/podspec"
	"github.com/flyte-binary/flyte-binary/pods/podstatus"
)

// labelWorker has the id of the worker.
const labelWorker = v1.Group + "/worker"

// Config configures the pods of workers.
type Config struct {
	// Program is the path of flyte-binary on every node. Empty means that an init container copies it from
	// executor.pod.copilot.image into the pod. Default empty.
	Program string `config:"program"`
}

// Fleet says which workers should run; enginev1connect.WorkerFleetServiceClient does.
type Fleet interface {
	WatchWorkers(ctx context.Context, r *enginev1.WatchWorkersRequest) (*connect.ServerStreamForClient[enginev1.WatchWorkersResponse], error)
	IssueWorkerToken(ctx context.Context, r *enginev1.IssueWorkerTokenRequest) (*enginev1.IssueWorkerTokenResponse, error)
	ReportWorkers(ctx context.Context, r *enginev1.ReportWorkersRequest) (*enginev1.ReportWorkersResponse, error)
}

// Leader decides on which replica workers are started.
type Leader interface {
	// While calls work in each term of this replica and returns when ctx ends.
	While(ctx context.Context, work func(ctx context.Context))
}

// Deps are what the service needs.
type Deps struct {
	Kube  *rest.Config
	Fleet Fleet
	// Describe makes the TaskAction that an action would have; taskactions.FromAssignment does.
	Describe func(a *enginev1.Assignment, namespace string) *v1.TaskAction
	// Pod says how pods look: the section executor.pod.
	Pod     podspec.Config
	Store   plugin.Store
	Secrets plugin.Secrets
	// Namespace and Namespaces say where pods go, as for tasks.
	Namespace  namespaces.Template
	Namespaces namespaces.Config
	// Leader elects one replica; nil means that this one always leads.
	Leader Leader
	// Installation is the id of this installation; empty means that all objects in the cluster belong to it.
	Installation string
	// Cluster is the id of the cluster.
	Cluster string
	// MaxSilence is how long the stream of wanted workers may send nothing before it is opened again; 0 means a minute.
	MaxSilence time.Duration
	Clock      clock.Clock
	Logger     zerolog.Logger
}

// Service starts workers while it leads.
type Service struct {
	lifecycle.Background
	config    Config
	deps      Deps
	clientset kubernetes.Interface
	client    client.Client
	builder   *podspec.Builder
	secrets   *attemptsecret.Keeper
	places    *namespaces.Keeper
	states    *podstatus.Reader
}

var _ lifecycle.Part = (*Service)(nil)

// New puts the service together. It does not connect to the cluster yet.
func New(config Config, deps Deps) (*Service, error) {
	if deps.Kube == nil || deps.Fleet == nil || deps.Describe == nil {
		return nil, errors.New("worker pods: the cluster, the workers service and a description of actions are required")
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	if deps.MaxSilence == 0 {
		deps.MaxSilence = stream.MaxSilence
	}
	deps.Logger = deps.Logger.With().Str("service", "worker pods").Logger()
	kube := rest.CopyConfig(deps.Kube)
	kube.UserAgent = "flyte-binary/workers"
	clientset, err := kubernetes.NewForConfig(kube)
	if err != nil {
		return nil, fmt.Errorf("worker pods: client of the cluster: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("worker pods: %w", err)
	}
	// A static mapper needs no calls to the API server, which may be unavailable.
	mapper := meta.NewDefaultRESTMapper(scheme.PreferredVersionAllGroups())
	for _, kind := range []string{"Pod", "PodTemplate", "Secret"} {
		mapper.Add(corev1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Namespace"), meta.RESTScopeRoot)
	direct, err := client.New(kube, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("worker pods: client of the cluster: %w", err)
	}
	builder, err := podspec.New(deps.Pod, podspec.Deps{Live: direct, Store: deps.Store, Clock: deps.Clock})
	if err != nil {
		return nil, fmt.Errorf("worker pods: %w", err)
	}
	return &Service{
		config: config, deps: deps, clientset: clientset, client: direct, builder: builder,
		secrets: attemptsecret.New(plugin.Deps{Live: direct, Writer: direct, Secrets: deps.Secrets, Clock: deps.Clock}),
		places:  namespaces.New(deps.Namespaces, direct, deps.Clock), states: podstatus.NewReader(deps.Pod, deps.Clock),
	}, nil
}

// Start implements lifecycle.Part.
func (s *Service) Start(ctx context.Context) error {
	return s.Run(s.deps.Logger.WithContext(ctx), func(ctx context.Context) {
		if s.deps.Leader == nil {
			s.lead(ctx)
			return
		}
		s.deps.Leader.While(ctx, s.lead)
	})
}

// selector chooses the pods of this installation's workers.
func (s *Service) selector() string {
	set := labels.Set{v1.LabelManaged: v1.ManagedValue}
	if s.deps.Installation != "" {
		set[v1.LabelInstallation] = s.deps.Installation
	}
	return set.String() + "," + labelWorker
}

const (
	// settle is the least time between two passes, in which changes gather.
	settle = 50 * time.Millisecond
	// resync is how often pods are compared without a message.
	resync = time.Minute
)

// lead is one term of this replica.
func (s *Service) lead(ctx context.Context) {
	term := &term{Service: s, changed: make(chan struct{}, 1), wanted: map[string]*enginev1.DesiredWorker{}, told: map[string]string{}}
	options := []informers.SharedInformerOption{informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = s.selector() })}
	if s.deps.Namespace.Fixed() {
		options = append(options, informers.WithNamespace(string(s.deps.Namespace)))
	}
	factory := informers.NewSharedInformerFactoryWithOptions(s.clientset, 0, options...)
	pods := factory.Core().V1().Pods()
	term.pods = pods.Lister()
	term.synced = pods.Informer().HasSynced
	if _, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { term.wake() }, UpdateFunc: func(any, any) { term.wake() }, DeleteFunc: func(any) { term.wake() },
	}); err != nil {
		s.deps.Logger.Error().Err(err).Msg("cannot watch the pods of workers")
		<-ctx.Done()
		return
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	var parts sync.WaitGroup
	defer parts.Wait()
	parts.Go(func() { term.listen(ctx) })
	parts.Go(func() { // where there are no pods yet, no event says that all are known
		if cache.WaitForCacheSync(ctx.Done(), term.synced) {
			term.wake()
		}
	})
	term.work(ctx)
}

// listen follows the stream of wanted workers. During an outage of the workers service the last ones stay wanted.
func (t *term) listen(ctx context.Context) {
	workers := stream.Client[enginev1.WatchWorkersResponse]{
		Open: func(ctx context.Context) (*connect.ServerStreamForClient[enginev1.WatchWorkersResponse], error) {
			return t.deps.Fleet.WatchWorkers(ctx, &enginev1.WatchWorkersRequest{Cluster: t.deps.Cluster})
		},
		MaxSilence: t.deps.MaxSilence, Backoff: backoff.Config{First: 100 * time.Millisecond, Max: 10 * time.Second}, Clock: t.deps.Clock,
		Failed: func(err error, pause time.Duration) {
			t.deps.Logger.Warn().Err(err).Dur("pause", pause).Msg("the stream of wanted workers broke; subscribing again")
		},
	}
	workers.Follow(ctx, t.follow)
}

// follow handles one stream.
func (t *term) follow(_ context.Context, workers *stream.Stream[enginev1.WatchWorkersResponse]) error {
	wanted, gathering := map[string]*enginev1.DesiredWorker{}, true
	for message := range workers.All() {
		switch m := message.GetMessage().(type) {
		case *enginev1.WatchWorkersResponse_Worker:
			wanted[m.Worker.GetId()] = m.Worker
		case *enginev1.WatchWorkersResponse_Removed:
			delete(wanted, m.Removed.GetId())
		case *enginev1.WatchWorkersResponse_Sentinel:
			gathering = false
			workers.Complete()
		}
		if !gathering {
			t.want(wanted)
		}
	}
	return nil
}
