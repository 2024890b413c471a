package taskactions

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/pods/namespaces"
)

// Engine is the part of EngineService that assigns actions.
type Engine interface {
	WatchAssignments(ctx context.Context, r *enginev1.WatchAssignmentsRequest) (*connect.ServerStreamForClient[enginev1.WatchAssignmentsResponse], error)
	GetAssignments(ctx context.Context, r *enginev1.GetAssignmentsRequest) (*enginev1.GetAssignmentsResponse, error)
	// GetActionStorage is used to check whether an action exists.
	GetActionStorage(ctx context.Context, r *enginev1.GetActionStorageRequest) (*enginev1.GetActionStorageResponse, error)
}

// Executor is the part of the executor that works on the same objects, in the same process.
type Executor interface {
	// Retains reports whether the object of a finished action is still required: the logs of its last attempt are
	// being sealed, or the executor has not processed it yet. The shard is that of the object, or ident.AllShards.
	Retains(shard int, object types.NamespacedName, uid types.UID) bool
	// HoldsPods reports whether there are pods of an action in a shard.
	HoldsPods(shard int, uid int64) bool
	// LivePods returns those of the actions that have pods that have not ended. It asks the API server: caches may be late.
	LivePods(ctx context.Context, shard int, uids []int64) ([]int64, error)
	// AwaitRoom returns when a shard has room for new objects, or when ctx ends: the executor still has to clean up after ended
	// actions, and more objects would make that slower.
	AwaitRoom(ctx context.Context, shard int)
	// NotifyFinished sets the function that the executor calls when it is done with an object. It is called before
	// anything starts.
	NotifyFinished(finished func(*v1.TaskAction))
}

// Leader decides on which replica the objects of each shard are owned.
type Leader interface {
	// While calls work in each term of this replica for each shard and returns when ctx ends.
	While(ctx context.Context, work func(ctx context.Context, shard int))
}

// Events records the end of actions that cannot become objects.
type Events interface {
	Record(ctx context.Context, transitions []*enginev1.Transition) ([]enginev1.TransitionOutcome, error)
}

// Deps are the dependencies of the owner.
type Deps struct {
	// Kubernetes reaches the API server. Its limits of requests are kept as they are.
	Kubernetes *rest.Config
	Engine     Engine
	Events     Events
	// Executor works on the objects; nil means that an object is deleted as soon as its action is not live.
	Executor Executor
	// Leader divides the shards among replicas; nil means that this one owns all.
	Leader Leader
	// Installation is the id of this installation; objects of others in the same cluster are left alone. Empty means
	// that all objects in the cluster belong to it.
	Installation string
	// OwnNamespace is that of this process, where tasks run only if the configuration names it; empty for none.
	OwnNamespace string
	// Cluster is the id of the cluster; empty means the default one.
	Cluster string
	// Doubtful reports whether the control plane may have taken actions back from this cluster of which it was not heard lately. Then the
	// pods of actions that are released end before new objects are created. Nil means never.
	Doubtful func() bool
	// Clock times pauses and the comparison; nil means the system's.
	Clock  clock.Clock
	Logger zerolog.Logger
	// Meter gets the metrics; nil means none.
	Meter metric.MeterProvider
}

// Owner creates and deletes TaskActions.
type Owner struct {
	background   lifecycle.Background
	config       Config
	namespace    namespaces.Template
	installation string // its id
	clusterID    string
	engine       Engine
	events       Events
	cluster      *cluster
	objects      *objects
	executor     Executor // nil for none
	doubtful     func() bool
	leader       Leader // nil for all shards, always
	clock        clock.Clock
	logger       zerolog.Logger
	metrics      *metrics

	mu       sync.Mutex
	sessions map[int]*session // GUARDED_BY(mu): by shard
}

var _ lifecycle.Part = (*Owner)(nil)

// New returns the owner; it makes no calls before Start.
func New(config Config, deps Deps) (*Owner, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("task actions: %w", err)
	}
	if deps.Kubernetes == nil || deps.Engine == nil || deps.Events == nil {
		return nil, errors.New("task actions: Kubernetes, Engine and Events are required")
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	if deps.Doubtful == nil {
		deps.Doubtful = func() bool { return false }
	}
	namespace, err := namespaces.Parse(config.Namespace)
	if err != nil {
		return nil, fmt.Errorf("task actions: namespace: %w", err)
	}
	o := &Owner{
		config: config, namespace: namespace, installation: deps.Installation, clusterID: deps.Cluster, engine: deps.Engine, events: deps.Events, clock: deps.Clock,
		executor: deps.Executor, doubtful: deps.Doubtful, leader: deps.Leader, logger: deps.Logger, sessions: map[int]*session{},
	}
	if o.cluster, err = newCluster(config, deps); err != nil {
		return nil, fmt.Errorf("task actions: %w", err)
	}
	if o.objects, err = newObjects(deps.Kubernetes, namespace, deps.Installation); err != nil {
		return nil, fmt.Errorf("task actions: %w", err)
	}
	if o.metrics, err = newMetrics(deps.Meter, o.live); err != nil {
		return nil, fmt.Errorf("task actions: %w", err)
	}
	if o.executor != nil {
		o.executor.NotifyFinished(o.finished)
	}
	return o, nil
}

// Start implements lifecycle.Part. It does not wait for the API server or the runs service: both may be unavailable.
func (o *Owner) Start(ctx context.Context) error {
	return o.background.Run(ctx, func(ctx context.Context) {
		if o.leader == nil {
			o.lead(ctx, ident.AllShards)
			return
		}
		o.leader.While(ctx, o.lead)
	})
}

// Stop implements lifecycle.Part.
func (o *Owner) Stop(ctx context.Context) error { return o.background.Stop(ctx) }

// lead is one term of this replica for a shard.
func (o *Owner) lead(ctx context.Context, shard int) {
	s := newSession(o, shard)
	o.mu.Lock()
	o.sessions[shard] = s
	o.mu.Unlock()
	defer func() {
		o.mu.Lock()
		delete(o.sessions, shard)
		o.mu.Unlock()
	}()
	s.run(ctx)
}

// sessionOf is the session in which the objects of a run are owned; nil while another replica owns them.
func (o *Owner) sessionOf(run ident.Run) *session {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s := o.sessions[ident.AllShards]; s != nil {
		return s
	}
	return o.sessions[run.Shard()]
}

// live is how many admitted, unfinished actions this replica knows of.
func (o *Owner) live() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	count := 0
	for _, s := range o.sessions {
		count += s.desired.size()
	}
	return int64(count)
}

// finished records that the executor is done with an object: the end of the action is committed, and the logs of its
// last attempt are sealed. The object is then deleted. If the process dies first, the next leader finds the object
// when it compares objects with live actions.
func (o *Owner) finished(task *v1.TaskAction) {
	if s := o.sessionOf(ident.Run{Project: task.Spec.Project, Domain: task.Spec.Domain, Name: task.Spec.Run}); s != nil {
		s.done.Store(task.Spec.UID, task.UID)
		s.removals.Add(task.Spec.UID)
	}
}

// retains reports whether the executor still needs an object.
func (s *session) retains(object *metav1.PartialObjectMetadata) bool {
	return s.executor != nil && s.executor.Retains(s.shard, types.NamespacedName{Namespace: object.Namespace, Name: object.Name}, object.UID)
}
