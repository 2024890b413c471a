package actions

import (
	"context"
	"errors"
	"fmt"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/actions/taskactions"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions/actionsconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

// Recorder is the part of InternalRunService that changes actions.
type Recorder interface {
	RecordAction(ctx context.Context, r *workflow.RecordActionRequest) (*workflow.RecordActionResponse, error)
	UpdateActionStatus(ctx context.Context, r *workflow.UpdateActionStatusRequest) (*workflow.UpdateActionStatusResponse, error)
}

// Engine is the part of EngineService that streams the children of a parent, and assignments.
type Engine interface {
	taskactions.Engine
	WatchChildren(ctx context.Context, r *enginev1.WatchChildrenRequest) (*connect.ServerStreamForClient[enginev1.WatchChildrenResponse], error)
}

// States is ActionStateService.
type States interface {
	PutActionState(ctx context.Context, r *enginev1.PutActionStateRequest) (*enginev1.PutActionStateResponse, error)
	GetActionState(ctx context.Context, r *enginev1.GetActionStateRequest) (*enginev1.GetActionStateResponse, error)
}

// Runs is the part of RunService that aborts whole runs.
type Runs interface {
	AbortRun(ctx context.Context, r *workflow.AbortRunRequest) (*workflow.AbortRunResponse, error)
}

// Deps are the dependencies of the service.
type Deps struct {
	Recorder Recorder
	Engine   Engine
	States   States
	Runs     Runs
	// Events records the end of actions that cannot become TaskActions.
	Events taskactions.Events
	// Kubernetes reaches the API server that has the TaskActions; nil means that another process owns them.
	Kubernetes *rest.Config
	// Executor works on the TaskActions; nil means none.
	Executor taskactions.Executor
	// Leader divides the TaskActions among replicas; nil means that this one owns all.
	Leader taskactions.Leader
	// Installation is the id of this installation, that labels its TaskActions; empty means that all TaskActions belong to it.
	Installation string
	// OwnNamespace is that of this process, where tasks run only if the configuration names it; empty for none.
	OwnNamespace string
	// Cluster is the id of the cluster; empty means the default one.
	Cluster string
	// Doubtful reports whether the control plane may have taken actions back from this cluster; nil means never.
	Doubtful func() bool
	// Clock times pauses and the life of streams; nil means the system's.
	Clock  clock.Clock
	Logger zerolog.Logger
	// Meter gets the metrics; nil means none.
	Meter metric.MeterProvider
}

// Service serves ActionsService, QueueService and StateService, and owns the TaskActions between Start and Stop.
type Service struct {
	owner    *taskactions.Owner // nil where another process owns the TaskActions
	config   Config
	recorder Recorder
	engine   Engine
	states   States
	runs     Runs
	clock    clock.Clock
	logger   zerolog.Logger
}

var _ lifecycle.Part = (*Service)(nil)

// New returns the service. It makes no calls before Start.
func New(config Config, deps Deps) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("actions: %w", err)
	}
	if deps.Recorder == nil || deps.Engine == nil || deps.States == nil || deps.Runs == nil {
		return nil, errors.New("actions: Recorder, Engine, States and Runs are required")
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	deps.Logger = deps.Logger.With().Str("service", "actions").Logger()
	s := &Service{
		config:   config,
		recorder: deps.Recorder,
		engine:   deps.Engine,
		states:   deps.States,
		runs:     deps.Runs,
		clock:    deps.Clock,
		logger:   deps.Logger,
	}
	if deps.Kubernetes == nil {
		return s, nil
	}
	owner, err := taskactions.New(config.TaskActions, taskactions.Deps{
		Kubernetes: deps.Kubernetes, Engine: deps.Engine, Events: deps.Events, Executor: deps.Executor, Leader: deps.Leader,
		Installation: deps.Installation, OwnNamespace: deps.OwnNamespace, Cluster: deps.Cluster, Doubtful: deps.Doubtful,
		Clock: deps.Clock, Logger: deps.Logger, Meter: deps.Meter,
	})
	if err != nil {
		return nil, fmt.Errorf("actions: %w", err)
	}
	s.owner = owner
	return s, nil
}

// Start implements lifecycle.Part.
func (s *Service) Start(ctx context.Context) error {
	if s.owner == nil {
		return nil
	}
	return s.owner.Start(ctx)
}

// Stop implements lifecycle.Part.
func (s *Service) Stop(ctx context.Context) error {
	if s.owner == nil {
		return nil
	}
	return s.owner.Stop(ctx)
}

// Mount registers the handlers.
func (s *Service) Mount(r rpc.Registrar) {
	options := r.Options()
	r.Handle(actionsconnect.NewActionsServiceHandler(&actionsHandler{s}, options...))
	r.Handle(workflowconnect.NewQueueServiceHandler(&queueHandler{s}, options...))
	r.Handle(workflowconnect.NewStateServiceHandler(&stateHandler{svc: s}, options...))
}

// actionsHandler serves ActionsService. Its methods are in files of their own, one use case each.
type actionsHandler struct{ svc *Service }

var _ actionsconnect.ActionsServiceHandler = (*actionsHandler)(nil)
