// Package apps serves AppService and decides what runs of each app. It keeps apps, their revisions and their history in
// Postgres, tells deployers what should run and gateways where requests go, and scales by the load that gateways report. The
// decisions are those of apps/rollout, the rows those of apps/store. Deployers and gateways meet it through generated
// clients only.
package apps

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"

	"github.com/flyte-binary/flyte-binary/apps/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/app/appconnect"
	"github.com/flyte-binary/flyte-binary/internal/names/place"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

// PodLogs reads the logs of pods of one cluster; enginev1connect.PodLogServiceClient is one.
type PodLogs interface {
	TailContainer(ctx context.Context, r *enginev1.TailContainerRequest) (*connect.ServerStreamForClient[enginev1.TailContainerResponse], error)
}

// Blobs reads and deletes the logs of replicas that are gone; blobstore.Store is one.
type Blobs interface {
	// Root is the URI prefix of the layout, without a trailing slash.
	Root() string
	NewReader(ctx context.Context, uri string) (io.ReadCloser, error)
	Delete(ctx context.Context, uri string) error
	// DeletePrefix deletes every object whose URI begins with uri, which ends with a slash.
	DeletePrefix(ctx context.Context, uri string) error
}

// Addresses say how apps are reached.
type Addresses struct {
	// PublicURL is the URL of this server as people and pods reach it.
	PublicURL string
	// Domain is the domain below which each app has a host of its own; empty for none.
	Domain string
}

// Deps are the dependencies of the service. It does not close the pool. All but Clusters, Settle, Clock and Meter are required.
type Deps struct {
	Pool     *pgxpool.Pool
	Projects place.Projects
	// PodLogs returns the reader of the logs of a cluster.
	PodLogs   func(cluster string) PodLogs
	Blobs     Blobs
	Addresses Addresses
	// Clusters chooses the clusters of apps; nil means that an app runs on the cluster that it names, else on default.
	Clusters Clusters
	// Settle is how long after its start the service takes no app from a cluster that is away: controllers need time to connect.
	Settle time.Duration
	// Listener receives notifications of Postgres for the whole process; nil means one of the service's own.
	Listener *pgdb.Listener
	Clock    clock.Clock
	Logger   zerolog.Logger
	// Meter gets the metrics; nil means none.
	Meter metric.MeterProvider
}

// Service has the handlers and the autoscaler.
type Service struct {
	handler *handler
	cleaner *logCleaner
	parts   *lifecycle.Group
}

var _ lifecycle.Part = (*Service)(nil)

// New puts the service together; nothing runs until Start.
func New(config Config, deps Deps) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("apps: %w", err)
	}
	if deps.Pool == nil || deps.Projects == nil || deps.Blobs == nil {
		return nil, errors.New("apps: the pool, the client of projects and the object store are required")
	}
	addresses, err := newAddresses(deps.Addresses)
	if err != nil {
		return nil, err
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	logger := deps.Logger.With().Str("service", "apps").Logger()
	rows := store.New(deps.Pool, deps.Clock)
	open := &logs{config: config, pods: deps.PodLogs, blobs: deps.Blobs, clock: deps.Clock, streams: make(chan struct{}, config.LogStreams)}
	figures, err := newMeters(deps.Meter, rows, open)
	if err != nil {
		return nil, fmt.Errorf("apps: %w", err)
	}
	h := &handler{
		config: config, decider: decider{config, figures}, store: rows, clock: deps.Clock, addresses: addresses, projects: deps.Projects,
		hub: &hub{}, logs: open, clusters: deps.Clusters, settle: deps.Settle,
	}
	scaler := &autoscaler{handler: h, clock: deps.Clock}
	cleaner := &logCleaner{store: rows, blobs: deps.Blobs, clock: deps.Clock, meters: figures}
	leases := pgdb.NewLeases(deps.Pool, deps.Clock, rand.Text()).In(store.LeaseTable)
	return &Service{
		handler: h, cleaner: cleaner,
		parts: lifecycle.NewGroup(
			lifecycle.Named{Name: "app notifications", Part: pgdb.Listen(deps.Listener, deps.Pool, deps.Clock, logger,
				map[string]func(pgdb.Notification){store.Channel: h.hub.heard})},
			lifecycle.Named{Name: "autoscaler", Part: &leased.Loop{
				Leases: leases, Name: "autoscaler", Length: config.Lease, Work: scaler.work, Logger: logger,
			}},
			lifecycle.Named{Name: "log deletion", Part: &leased.Loop{
				Leases: leases, Name: "log deletion", Length: config.Lease, Work: cleaner.work, Logger: logger,
			}},
		),
	}, nil
}

// handler serves all services of the package. Its methods are in files of their own.
type handler struct {
	decider
	config    Config
	store     *store.Store
	clock     clock.Clock
	addresses addresses
	projects  place.Projects
	hub       *hub
	logs      *logs
	clusters  Clusters
	settle    time.Duration
}

// Mount registers the handlers.
func (s *Service) Mount(r rpc.Registrar) {
	options := connect.WithHandlerOptions(r.Options()...)
	r.Handle(appconnect.NewAppServiceHandler(s.handler, options))
	r.Handle(appconnect.NewAppLogsServiceHandler(s.handler, options))
	r.Handle(enginev1connect.NewAppFleetServiceHandler(s.handler, options))
	r.Handle(enginev1connect.NewAppRouteServiceHandler(s.handler, options))
	r.Handle(enginev1connect.NewAppUseServiceHandler(s.handler, options))
	r.Handle(insightv1connect.NewAppInsightServiceHandler(s.handler, options))
}

// Start starts the autoscaler. Requests reach no replica on the ports of this machine until its deployer has reported it.
func (s *Service) Start(ctx context.Context) error {
	if err := s.handler.store.ForgetReplicas(ctx); err != nil {
		return fmt.Errorf("apps: %w", err)
	}
	return s.parts.Start(ctx)
}

// Stop ends it. What it had to do, the next holder of its lease does.
func (s *Service) Stop(ctx context.Context) error { return s.parts.Stop(ctx) }
