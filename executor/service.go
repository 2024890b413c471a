package executor

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/flyte-binary/flyte-binary/attempts"
	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/executor/measure"
	"github.com/flyte-binary/flyte-binary/executor/reconciler"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/pods/logs"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// Store is the object store as the executor needs it.
type Store interface {
	reconciler.Store
	logs.Store
}

// Leader decides on which replica the TaskActions of each shard are reconciled.
type Leader interface {
	// While calls work in each term of this replica for each shard and returns when ctx ends.
	While(ctx context.Context, work func(ctx context.Context, shard int))
}

// Deps are what the service needs.
type Deps struct {
	// Kube reaches the cluster whose pods run tasks.
	Kube *rest.Config
	// Sink takes transitions.
	Sink attempts.Sink
	// Assignments reads the assignments of live actions.
	Assignments verdict.Assignments
	// Store has what tasks write, and the logs that are kept.
	Store Store
	// Secrets reads the values of secrets; nil means that there are none.
	Secrets enginev1connect.SecretValueServiceClient
	// Tokens issues the tokens by which tasks call the server; nil means that they need none.
	Tokens enginev1connect.TaskTokenServiceClient
	// Leader divides the shards among replicas; nil means that this one reconciles all.
	Leader Leader
	// Clock tells the time; nil means the system's.
	Clock  clock.Clock
	Logger zerolog.Logger
	// Installation is the id of this installation; objects of others in the same cluster are not seen. Empty means
	// that all objects in the cluster belong to it.
	Installation string
	// Cluster is the id of the cluster, for reports; empty means the default one.
	Cluster string
	// Usage takes what attempts use; nil measures nothing.
	Usage measure.Recorder
	// Nodes reads what the pods of a node use; nil means its kubelet, or else the metrics API.
	Nodes measure.Source
	// Meter gets the metrics; nil means none.
	Meter metric.MeterProvider
	// Tracer records spans of attempts; nil means none.
	Tracer trace.TracerProvider
}

// Service runs the reconciler and serves PodLogService.
type Service struct {
	config    Config
	deps      Deps
	kube      *rest.Config
	clientset kubernetes.Interface
	mapper    meta.RESTMapper  // of the managers of all shards
	slots     reconciler.Slots // of the reconcilers of all shards
	presence  *presence        // which plugins the cluster serves

	mu     sync.Mutex
	cancel context.CancelFunc // GUARDED_BY(mu): ends the running service
	done   chan struct{}      // GUARDED_BY(mu): closed when it has ended

	finished func(*v1.TaskAction) // set before the start
	current  current
	caches   caches         // of the managers that run
	meter    *measure.Meter // nil measures nothing
}

var _ lifecycle.Part = (*Service)(nil)

// New puts the service together. It does not connect to the cluster yet.
func New(config Config, deps Deps) (*Service, error) {
	return newService(config, deps, config.definitions())
}

// newService returns a service that runs the plugins of these definitions.
func newService(config Config, deps Deps, definitions []plugin.Definition) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("executor: %w", err)
	}
	switch {
	case deps.Kube == nil:
		return nil, errors.New("executor: the configuration of the cluster is required")
	case deps.Sink == nil:
		return nil, errors.New("executor: the sink is required")
	case deps.Assignments == nil:
		return nil, errors.New("executor: the assignments are required")
	case deps.Store == nil:
		return nil, errors.New("executor: the object store is required")
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	deps.Logger = deps.Logger.With().Str("service", "executor").Logger()
	kube := rest.CopyConfig(deps.Kube)
	if kube.QPS == 0 {
		kube.QPS = -1 // The API server's fairness and the number of workers limit us.
	}
	kube.UserAgent = "flyte-binary/executor"
	clientset, err := kubernetes.NewForConfig(kube)
	if err != nil {
		return nil, fmt.Errorf("executor: client of the cluster: %w", err)
	}
	transport, err := rest.HTTPClientFor(kube)
	if err != nil {
		return nil, fmt.Errorf("executor: client of the cluster: %w", err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(kube, transport)
	if err != nil {
		return nil, fmt.Errorf("executor: kinds of the cluster: %w", err)
	}
	s := &Service{config: config, deps: deps, kube: kube, clientset: clientset, mapper: mapper, slots: reconciler.NewSlots(config.Reconciler)}
	types, err := newProbe(config, kube, definitions)
	if err != nil {
		return nil, fmt.Errorf("executor: %w", err)
	}
	types.mapper = mapper
	s.presence = &presence{probe: types, interval: config.Plugins.Probe, clock: deps.Clock}
	if err := s.measure(); err != nil {
		return nil, fmt.Errorf("executor: %w", err)
	}
	if deps.Usage != nil {
		if s.meter, err = s.newMeter(); err != nil {
			return nil, fmt.Errorf("executor: %w", err)
		}
	}
	return s, nil
}

// measure exports the age of the longest reconcile, and how many cleanups wait.
func (s *Service) measure() error {
	provider := s.deps.Meter
	if provider == nil {
		provider = noop.NewMeterProvider()
	}
	meter := provider.Meter("github.com/flyte-binary/flyte-binary/executor")
	const longest, cleanups = "flyte.reconcile.longest", "flyte.cleanups.waiting"
	if _, err := meter.Float64ObservableGauge(longest,
		metric.WithUnit("s"), metric.WithDescription("how long the longest reconcile has been running"),
		metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
			longest, _ := s.Longest()
			o.Observe(longest.Age.Seconds())
			return nil
		})); err != nil {
		return fmt.Errorf("make metric %s: %w", longest, err)
	}
	if _, err := meter.Int64ObservableGauge(cleanups,
		metric.WithDescription("ended actions whose pods and TaskActions wait for their deletion"),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(s.cleanups())
			return nil
		})); err != nil {
		return fmt.Errorf("make metric %s: %w", cleanups, err)
	}
	return nil
}

// cleanups is how many ended actions wait for their cleanup.
func (s *Service) cleanups() (waiting int64) {
	for _, one := range s.current.all() {
		waiting += int64(one.Cleanups())
	}
	return waiting
}

// Live is how many actions the process keeps in memory: live ones only.
func (s *Service) Live() int {
	live := 0
	for _, one := range s.current.all() {
		live += one.Live()
	}
	return live
}

// Longest is the reconcile that has run longest; false when none runs.
func (s *Service) Longest() (longest reconciler.Running, found bool) {
	for _, one := range s.current.all() {
		if running, runs := one.Longest(); runs && (!found || running.Age > longest.Age) {
			longest, found = running, true
		}
	}
	return longest, found
}

// Retains reports whether a TaskAction of a shard must stay although its action is no longer live.
func (s *Service) Retains(shard int, object types.NamespacedName, uid types.UID) bool {
	one := s.current.of(shard)
	return one == nil || one.Retains(object, uid)
}

// HoldsPods reports whether there are pods of an action in a shard.
func (s *Service) HoldsPods(shard int, uid int64) bool {
	one := s.current.of(shard)
	return one == nil || one.HoldsPods(uid)
}

// AwaitRoom returns when a shard has room for new TaskActions: when no more ended actions wait for their cleanup than a burst may
// delay, or when none of these ends. It returns early when ctx ends.
func (s *Service) AwaitRoom(ctx context.Context, shard int) {
	if one := s.current.of(shard); one != nil {
		one.AwaitRoom(ctx)
	}
}

// NotifyFinished sets what is called when a TaskAction is no longer needed. The owner of TaskActions calls it before
// Start.
func (s *Service) NotifyFinished(finished func(*v1.TaskAction)) { s.finished = finished }

// Mount registers PodLogService.
func (s *Service) Mount(r rpc.Registrar) {
	service := logs.NewService(s.config.Logs, s.clientset.CoreV1(), s.deps.Clock)
	r.Handle(enginev1connect.NewPodLogServiceHandler(service, r.Options()...))
}

// Start starts the reconciler, or the wait for leadership where a leader is elected. It waits a while for the cluster;
// an unreachable one is not an error, since it may come back.
func (s *Service) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancel != nil {
		return errors.New("executor: started already")
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel, s.done = cancel, make(chan struct{})
	ready := make(chan struct{})
	isReady := sync.OnceFunc(func() { close(ready) })
	go func(done chan struct{}) {
		defer close(done)
		var observers sync.WaitGroup
		defer observers.Wait()
		if s.meter != nil {
			observers.Go(func() { s.meter.Run(running) })
		}
		if s.config.Events {
			observers.Go(func() { s.followEvents(running) })
		}
		if s.deps.Leader == nil {
			s.supervise(running, ident.AllShards, isReady)
			return
		}
		s.deps.Leader.While(running, func(ctx context.Context, shard int) { s.supervise(ctx, shard, isReady) })
	}(s.done)
	if s.deps.Leader != nil {
		return nil
	}

	timer := s.deps.Clock.NewTimer(s.config.StartupWait)
	defer timer.Stop()
	select {
	case <-ready:
	case <-timer.C():
		s.deps.Logger.Warn().Msg("cluster not reachable yet; retrying")
	case <-ctx.Done():
		cancel()
		<-s.done
		s.cancel = nil
		return fmt.Errorf("executor: %w", ctx.Err())
	}
	return nil
}

// Stop implements lifecycle.Part. Pods keep running.
func (s *Service) Stop(ctx context.Context) error {
	s.mu.Lock()
	cancel, done := s.cancel, s.done
	s.cancel = nil
	s.mu.Unlock()
	if cancel == nil {
		return nil
	}
	cancel()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("executor: %w", ctx.Err())
	}
}
