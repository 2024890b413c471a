// Package triggers serves TriggerService and fires triggers: it computes when they are due, records each slot once, and has
// the runs service create its run. It depends on Postgres and meets the runs service through generated clients. The
// schedules are those of triggers/schedule, the rows those of triggers/store.
package triggers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact/artifactconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task/taskconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger/triggerconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/triggers/store"
)

// serviceName is who calls where no user does.
const serviceName = "triggers"

// Runs is the part of RunService that policies need; workflowconnect.RunServiceClient is one.
type Runs interface {
	GetRunDetails(ctx context.Context, r *workflow.GetRunDetailsRequest) (*workflow.GetRunDetailsResponse, error)
	AbortRun(ctx context.Context, r *workflow.AbortRunRequest) (*workflow.AbortRunResponse, error)
	ListRuns(ctx context.Context, r *workflow.ListRunsRequest) (*workflow.ListRunsResponse, error)
}

// Deps are the dependencies of the service. It does not close the pool. All but ArtifactChannel, Clock and Meter are required.
type Deps struct {
	Pool *pgxpool.Pool
	// Starter creates the runs of slots.
	Starter enginev1connect.TriggerRunServiceClient
	Runs    Runs
	// Tasks reads the tasks that triggers run.
	Tasks taskconnect.TaskServiceClient
	// Artifacts reads the versions that runs get, ArtifactEvents lists new ones.
	Artifacts      artifactconnect.ArtifactServiceClient
	ArtifactEvents enginev1connect.ArtifactEventServiceClient
	// ArtifactChannel is the channel of Postgres on which new versions are announced; without it, they are found by looking
	// every Config.Poll.
	ArtifactChannel string
	// Listener receives notifications of Postgres for the whole process; nil means one of the service's own.
	Listener *pgdb.Listener
	Clock    clock.Clock
	Logger   zerolog.Logger
	// Meter gets the metrics; nil means none.
	Meter metric.MeterProvider
}

// Service has the handlers and the scheduler.
type Service struct {
	handler *handler
	parts   *lifecycle.Group
}

var _ lifecycle.Part = (*Service)(nil)

// New puts the service together; nothing runs until Start.
func New(config Config, deps Deps) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("triggers: %w", err)
	}
	if deps.Pool == nil || deps.Starter == nil || deps.Runs == nil || deps.Tasks == nil || deps.Artifacts == nil || deps.ArtifactEvents == nil {
		return nil, errors.New("triggers: the pool and the clients of runs, tasks and artifacts are required")
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	if deps.Meter == nil {
		deps.Meter = noop.NewMeterProvider()
	}
	logger := deps.Logger.With().Str("service", "triggers").Logger()
	rows := store.New(deps.Pool, deps.Clock)
	measured, err := newMeters(deps.Meter, rows)
	if err != nil {
		return nil, err
	}
	loop := &scheduler{
		config: config, store: rows, planner: planner{config}, clock: deps.Clock, logger: logger, meters: measured,
		leases: pgdb.NewLeases(deps.Pool, deps.Clock, rand.Text()).In(store.LeaseTable),
		wake:   make(chan struct{}, 1),
		starter: &starter{
			config: config, store: rows, runs: deps.Runs, starts: deps.Starter, artifacts: deps.Artifacts, clock: deps.Clock, logger: logger, meters: measured,
			bound: newBound(config, rows, deps.Runs, deps.Clock),
		},
	}
	loop.versions = &versions{
		config: config, store: rows, planner: planner{config}, events: deps.ArtifactEvents, clock: deps.Clock, logger: logger,
		taken: loop.nudge, fresh: make(chan struct{}, 1),
	}
	channels := map[string]func(pgdb.Notification){store.Channel: func(pgdb.Notification) { loop.nudge() }}
	if deps.ArtifactChannel != "" {
		channels[deps.ArtifactChannel] = func(pgdb.Notification) { loop.versions.nudge() }
	}
	listener := pgdb.Listen(deps.Listener, deps.Pool, deps.Clock, logger, channels)
	return &Service{
		handler: &handler{
			store: rows, planner: planner{config}, clock: deps.Clock, tasks: deps.Tasks, starts: deps.Starter, runs: deps.Runs,
			artifacts: deps.Artifacts, events: deps.ArtifactEvents,
		},
		parts: lifecycle.NewGroup(
			lifecycle.Named{Name: "trigger notifications", Part: listener},
			lifecycle.Named{Name: "scheduler", Part: loop},
		),
	}, nil
}

// handler serves the three services. Its methods are in files of their own.
type handler struct {
	store   *store.Store
	planner planner
	clock   clock.Clock
	tasks   taskconnect.TaskServiceClient
	starts  enginev1connect.TriggerRunServiceClient
	runs    Runs
	// artifacts says how an artifact was declared, events from which version on a trigger waits.
	artifacts artifactconnect.ArtifactServiceClient
	events    enginev1connect.ArtifactEventServiceClient
}

// Mount registers the handlers.
func (s *Service) Mount(r rpc.Registrar) {
	options := connect.WithHandlerOptions(r.Options()...)
	r.Handle(triggerconnect.NewTriggerServiceHandler(s.handler, options))
	r.Handle(enginev1connect.NewTaskTriggerServiceHandler(s.handler, options))
	r.Handle(insightv1connect.NewTriggerInsightServiceHandler(s.handler, options))
}

// Start starts the scheduler.
func (s *Service) Start(ctx context.Context) error { return s.parts.Start(ctx) }

// Stop ends it. Slots that are picked up and have no run yet are started by the next holder of the lease.
func (s *Service) Stop(ctx context.Context) error { return s.parts.Stop(ctx) }
