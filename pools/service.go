// Package pools runs the tasks of reusable environments in pools of workers, instead of a pod for each attempt. It takes
// the assigned actions from the runs service, gives them to the workers that ask for work, judges how they end, and tells the
// controllers of clusters which workers should run. The decisions are those of pools/size, the rows those of workers/store.
// It meets the runs service and the controllers through generated clients only.
package pools

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	"connectrpc.com/connect"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"

	"github.com/flyte-binary/flyte-binary/attempts"
	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/worker/v1/workerv1connect"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/pools/store"
)

// Engine says which actions pools should run; enginev1connect.EngineServiceClient does.
type Engine interface {
	WatchAssignments(ctx context.Context, r *enginev1.WatchAssignmentsRequest) (*connect.ServerStreamForClient[enginev1.WatchAssignmentsResponse], error)
	GetAssignments(ctx context.Context, r *enginev1.GetAssignmentsRequest) (*enginev1.GetAssignmentsResponse, error)
}

// Tokens issues the tokens by which attempts call the server; enginev1connect.TaskTokenServiceClient does.
type Tokens interface {
	IssueTaskToken(ctx context.Context, r *enginev1.IssueTaskTokenRequest) (*enginev1.IssueTaskTokenResponse, error)
}

// Clusters says which clusters take no new work; clusterview.Closed does.
type Clusters interface {
	// Closed returns them by name.
	Closed(ctx context.Context) (map[string]Closed, error)
}

// Closed is a cluster that takes no new work.
type Closed struct {
	// Words say why, as in "is cordoned".
	Words string
	// Empties says that workers without work are to end at once.
	Empties bool
	// Removed says that the cluster was given up, with all workers.
	Removed bool
}

// Deps are the dependencies of the service. It does not close the pool. All but Clusters, Tokens, Clock and Meter are required.
type Deps struct {
	Pool   *pgxpool.Pool
	Engine Engine
	// Clusters says where no workers start; nil means that they start everywhere.
	Clusters Clusters
	Sink     attempts.Sink
	Store    verdict.Store
	// Tokens issues tokens for attempts; nil means that they need none.
	Tokens Tokens
	// LegacyEnv gives tasks the variables of Flyte 1, as executor.pod.legacyEnv does in pods.
	LegacyEnv bool
	// Listener receives notifications of Postgres for the whole process; nil means one of the service's own.
	Listener *pgdb.Listener
	Clock    clock.Clock
	Logger   zerolog.Logger
	// Meter gets the metrics; nil means none.
	Meter metric.MeterProvider
}

// Service has the handlers and the keeper of the pools.
type Service struct {
	handler *handler
	parts   *lifecycle.Group
}

var _ lifecycle.Part = (*Service)(nil)

// maxKnown is how many assignments are cached.
const maxKnown = 4096

// New puts the service together; nothing runs until Start.
func New(config Config, deps Deps) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("workers: %w", err)
	}
	if deps.Pool == nil || deps.Engine == nil || deps.Sink == nil || deps.Store == nil {
		return nil, errors.New("workers: the pool, the engine, the sink and the object store are required")
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	known, err := lru.New[int64, *enginev1.Assignment](maxKnown)
	if err != nil {
		return nil, fmt.Errorf("workers: %w", err)
	}
	deps.Logger = deps.Logger.With().Str("service", "workers").Logger()
	rows := store.New(deps.Pool)
	meters, err := newMeters(deps.Meter, rows)
	if err != nil {
		return nil, fmt.Errorf("workers: %w", err)
	}
	h := &handler{
		config: config, deps: deps, store: rows, writer: store.NewWriter(deps.Pool), hub: newHub(), known: known, meters: meters,
		reporter: attempts.Reporter{
			Source: "worker", Sink: deps.Sink, Assignments: deps.Engine, Clock: deps.Clock,
			Budget: verdict.Budget{
				MaxSystemFailures: config.MaxSystemFailures, SystemBackoff: config.SystemBackoff, MaxSystemBackoff: config.MaxSystemBackoff,
			},
		},
	}
	keep := &keeper{handler: h}
	leases := pgdb.NewLeases(deps.Pool, deps.Clock, rand.Text()).In(store.LeaseTable)
	return &Service{handler: h, parts: lifecycle.NewGroup(
		lifecycle.Named{Name: "attempts of workers", Part: h.writer},
		lifecycle.Named{Name: "worker notifications", Part: pgdb.Listen(deps.Listener, deps.Pool, deps.Clock, deps.Logger,
			map[string]func(pgdb.Notification){store.Channel: h.hub.heard})},
		lifecycle.Named{Name: "assignments of pools", Part: &leased.Loop{
			Leases: leases, Name: "assignments", Length: config.KeeperLease, Work: keep.mirror, Logger: deps.Logger,
		}},
		lifecycle.Named{Name: "pools", Part: &leased.Loop{
			Leases: leases, Name: "pools", Length: config.KeeperLease, Work: keep.work, Logger: deps.Logger,
		}},
	)}, nil
}

// handler serves the services of the package.
type handler struct {
	config   Config
	deps     Deps
	reporter attempts.Reporter
	store    *store.Store
	writer   *store.Writer
	hub      *hub
	meters   *meters
	ending   sync.Map                                // the uids of actions whose last attempt a session of this process is recording
	known    *lru.Cache[int64, *enginev1.Assignment] // by uid, of actions that wait or run; what it says of attempts is old
}

// Mount registers the handlers.
func (s *Service) Mount(r rpc.Registrar) {
	options := connect.WithHandlerOptions(r.Options()...)
	r.Handle(workerv1connect.NewWorkerServiceHandler(s.handler, options))
	r.Handle(enginev1connect.NewWorkerFleetServiceHandler(s.handler, options))
	r.Handle(enginev1connect.NewWorkerPoolServiceHandler(s.handler, options))
	r.Handle(insightv1connect.NewPoolInsightServiceHandler(s.handler, options))
}

// Start starts the keeper.
func (s *Service) Start(ctx context.Context) error { return s.parts.Start(ctx) }

// Stop ends it. What it had to do, the next holder of its lease does.
func (s *Service) Stop(ctx context.Context) error { return s.parts.Stop(ctx) }

// assignment returns what is to run for an action; nil if the action is no longer live, or was moved to another cluster.
func (h *handler) assignment(ctx context.Context, a *store.Action) (*enginev1.Assignment, error) {
	if known, ok := h.known.Get(a.UID); ok && known.GetCluster() == a.Cluster {
		return known, nil
	}
	answer, err := h.deps.Engine.GetAssignments(ctx, &enginev1.GetAssignmentsRequest{Uids: []int64{a.UID}})
	if err != nil {
		return nil, fmt.Errorf("read an assignment: %w", err)
	}
	for _, found := range answer.GetAssignments() {
		if found.GetCluster() == a.Cluster {
			h.known.Add(a.UID, found)
			return found, nil
		}
	}
	return nil, nil //nolint:nilnil // documented
}
