package bridge

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
	"k8s.io/client-go/rest"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/internal/lifecycle"
)

// Engine is the part of EngineService that assigns actions.
type Engine interface {
	WatchAssignments(ctx context.Context, r *enginev1.WatchAssignmentsRequest) (*connect.ServerStreamForClient[enginev1.WatchAssignmentsResponse], error)
	GetAssignments(ctx context.Context, r *enginev1.GetAssignmentsRequest) (*enginev1.GetAssignmentsResponse, error)
	GetActionStorage(ctx context.Context, r *enginev1.GetActionStorageRequest) (*enginev1.GetActionStorageResponse, error)
}

// Events takes the end of actions that cannot become objects.
type Events interface {
	Record(ctx context.Context, transitions []*enginev1.Transition) ([]enginev1.TransitionOutcome, error)
}

// Deps are what the bridge stands on.
type Deps struct {
	// Kubernetes reaches the API server. Its limits of requests are kept as they are.
	Kubernetes *rest.Config
	Engine     Engine
	Events     Events
	// Installation is the id of this installation; objects of others in the same cluster are left alone. Empty means
	// that all objects in the cluster are ours.
	Installation string
	// Identity tells this replica from others in the election; empty means the host's name and a random part.
	Identity string
	// Clock times pauses and the comparison; nil means the system's.
	Clock  clock.Clock
	Logger zerolog.Logger
	// Meter gets the metrics; nil means none.
	Meter metric.MeterProvider
}

// Bridge is the long-lived part.
type Bridge struct {
	config    Config
	namespace template
	owner     string // the id of this installation
	engine    Engine
	events    Events
	cluster   *cluster
	objects   *objects
	lock      *election
	clock     clock.Clock
	logger    zerolog.Logger
	metrics   *metrics

	mu      sync.Mutex
	cancel  context.CancelFunc // GUARDED_BY(mu): nil when not started
	stopped chan struct{}      // GUARDED_BY(mu): closed when everything has ended
}

var _ lifecycle.Part = (*Bridge)(nil)

// New puts the bridge together; it calls nobody until Start.
func New(config Config, deps Deps) (*Bridge, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	if deps.Kubernetes == nil || deps.Engine == nil || deps.Events == nil {
		return nil, errors.New("bridge: the API server, the engine and the events are needed")
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	namespace, err := parseTemplate(config.Namespace)
	if err != nil {
		return nil, fmt.Errorf("bridge: namespace: %w", err)
	}
	b := &Bridge{
		config: config, namespace: namespace, owner: deps.Installation, engine: deps.Engine, events: deps.Events, clock: deps.Clock,
		logger: deps.Logger.With().Str("service", "bridge").Logger(),
	}
	if b.cluster, err = newCluster(deps.Kubernetes, deps.Installation, config.CreateNamespaces); err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	if b.objects, err = newObjects(deps.Kubernetes, namespace, deps.Installation); err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	if b.lock, err = newElection(config.Election.of(deps.Installation), deps.Identity, deps.Kubernetes, b.logger); err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	if b.metrics, err = newMetrics(deps.Meter); err != nil {
		return nil, fmt.Errorf("bridge: %w", err)
	}
	return b, nil
}

// Start implements lifecycle.Part. It does not wait for the API server or the state machine: both may be away.
func (b *Bridge) Start(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cancel != nil {
		return errors.New("bridge: started twice")
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	b.cancel, b.stopped = cancel, make(chan struct{})
	go func(stopped chan struct{}) {
		defer close(stopped)
		b.lock.whileHeld(running, func(ctx context.Context) { newSession(b).run(ctx) })
	}(b.stopped)
	return nil
}

// Stop implements lifecycle.Part.
func (b *Bridge) Stop(ctx context.Context) error {
	b.mu.Lock()
	cancel, stopped := b.cancel, b.stopped
	b.mu.Unlock()
	if cancel == nil {
		return nil
	}
	cancel()
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("bridge: stop: %w", ctx.Err())
	}
}
