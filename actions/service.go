package actions

import (
	"context"
	"errors"
	"fmt"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions/actionsconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
)

// Recorder is the part of InternalRunService that changes actions.
type Recorder interface {
	RecordAction(ctx context.Context, r *workflow.RecordActionRequest) (*workflow.RecordActionResponse, error)
	UpdateActionStatus(ctx context.Context, r *workflow.UpdateActionStatusRequest) (*workflow.UpdateActionStatusResponse, error)
}

// Children is the part of EngineService that streams the state of a parent's children.
type Children interface {
	WatchChildren(ctx context.Context, r *enginev1.WatchChildrenRequest) (*connect.ServerStreamForClient[enginev1.WatchChildrenResponse], error)
}

// Runs is the part of RunService that aborts whole runs.
type Runs interface {
	AbortRun(ctx context.Context, r *workflow.AbortRunRequest) (*workflow.AbortRunResponse, error)
}

// Deps are what the service stands on.
type Deps struct {
	Recorder Recorder
	Children Children
	Runs     Runs
	// Clock times pauses and the life of streams; nil means the system's.
	Clock  clock.Clock
	Logger zerolog.Logger
}

// Service serves ActionsService, QueueService and StateService.
type Service struct {
	config   Config
	recorder Recorder
	children Children
	runs     Runs
	clock    clock.Clock
	logger   zerolog.Logger
}

// New puts the service together. It has no loops.
func New(config Config, deps Deps) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("actions: %w", err)
	}
	if deps.Recorder == nil || deps.Children == nil || deps.Runs == nil {
		return nil, errors.New("actions: the recorder, the children and the runs are needed")
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	return &Service{
		config:   config,
		recorder: deps.Recorder,
		children: deps.Children,
		runs:     deps.Runs,
		clock:    deps.Clock,
		logger:   deps.Logger.With().Str("service", "actions").Logger(),
	}, nil
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
