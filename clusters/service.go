// Package clusters registers the clusters that run work of an installation, and the credentials of their controllers. It is the
// authenticator of these credentials: a controller acts for its own cluster alone. It depends on Postgres and knows no other
// service.
package clusters

import (
	"context"
	"errors"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"

	"github.com/flyte-binary/flyte-binary/clusters/absences"
	"github.com/flyte-binary/flyte-binary/clusters/credentials"
	"github.com/flyte-binary/flyte-binary/clusters/links"
	"github.com/flyte-binary/flyte-binary/clusters/states"
	"github.com/flyte-binary/flyte-binary/clusters/store"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1/clustersv1connect"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

// Deps are the dependencies of the service. It does not close the pool. Pool and Logger are required.
type Deps struct {
	Pool *pgxpool.Pool
	// Listener receives notifications of Postgres for the whole process; nil means one of the service's own.
	Listener *pgdb.Listener
	// Version is the version of this program; empty for one that was built without.
	Version string
	// Installation is the id of the installation.
	Installation string
	// Work counts what clusters have to do; nil means that it is not known.
	Work Counter
	// LostAfter is how long a cluster is away before its work is given up; 0 for never.
	LostAfter time.Duration
	// PodPolicy returns an error in words for a text that is not the report of a policy of pods; nil takes all.
	PodPolicy func(text string) error
	// Stores are the prefixes of URIs that a cluster with these labels reaches, apart from those that all reach; nil means that there are
	// none.
	Stores func(name string, labels map[string]string) []string
	Clock  clock.Clock
	Logger zerolog.Logger
	// Meter gets the metrics; nil means none.
	Meter metric.MeterProvider
}

// Service is the registry of clusters.
type Service struct {
	handler     *handler
	states      *states.Reader
	links       *links.Links
	credentials *credentials.Credentials
	parts       *lifecycle.Group
}

var _ lifecycle.Part = (*Service)(nil)

// New puts the service together; nothing runs until Start.
func New(deps Deps) (*Service, error) {
	if deps.Pool == nil {
		return nil, errors.New("clusters: the pool is required")
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	if deps.Stores == nil {
		deps.Stores = func(string, map[string]string) []string { return nil }
	}
	deps.Logger = deps.Logger.With().Str("service", "clusters").Logger()
	rows := store.New(deps.Pool)
	known := states.NewReader(rows, deps.Clock.Now)
	meters, err := links.NewMeters(deps.Meter)
	if err != nil {
		return nil, fmt.Errorf("clusters: %w", err)
	}
	s := &Service{
		credentials: credentials.New(rows, deps.Clock, deps.Logger), states: known,
		links: links.New(links.Deps{
			Store: rows, States: known, Version: deps.Version, PodPolicy: deps.PodPolicy, Clock: deps.Clock, Logger: deps.Logger, Meters: meters,
		}),
		handler: &handler{
			registry: NewRegistry(rows, deps.Work, deps.Clock), states: known, clock: deps.Clock, version: deps.Version, installation: deps.Installation,
			lostAfter: deps.LostAfter, stores: deps.Stores,
		},
	}
	if err := s.links.Observe(deps.Meter, links.Observed{LostAfter: deps.LostAfter, Actions: actionsOf(deps.Work)}); err != nil {
		return nil, fmt.Errorf("clusters: %w", err)
	}
	listener := pgdb.Listen(deps.Listener, deps.Pool, deps.Clock, deps.Logger, map[string]func(pgdb.Notification){
		store.Channel: func(pgdb.Notification) {
			s.credentials.Forget()
			s.states.Forget()
			s.links.Changed()
		},
		store.TailChannel: s.links.Hear,
	})
	absent := absences.New(absences.Deps{Clusters: known, Store: rows, LostAfter: deps.LostAfter, Clock: deps.Clock, Logger: deps.Logger})
	s.parts = lifecycle.NewGroup(
		lifecycle.Named{Name: "notifications", Part: listener}, lifecycle.Named{Name: "credentials", Part: s.credentials},
		lifecycle.Named{Name: "absences", Part: absent},
	)
	return s, nil
}

// Mount registers the handler.
func (s *Service) Mount(r rpc.Registrar) {
	r.Handle(clustersv1connect.NewClusterRegistryServiceHandler(s.handler, connect.WithHandlerOptions(r.Options()...)))
	s.links.Mount(r)
}

// Start records the use of credentials and the absences of clusters.
func (s *Service) Start(ctx context.Context) error { return s.parts.Start(ctx) }

// Stop ends that.
func (s *Service) Stop(ctx context.Context) error { return s.parts.Stop(ctx) }

// Authenticator knows the controllers of clusters by their credentials.
func (s *Service) Authenticator() authz.Authenticator { return s.credentials }

// States says what is known about each cluster.
func (s *Service) States() *states.Reader { return s.states }
