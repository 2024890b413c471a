// Package connectors runs tasks whose work another system does: a connector starts the job there, says how it is, and deletes
// it. The package takes the assigned actions from the runs service, calls the connectors over gRPC, and reports how the jobs
// end. No pod runs, and no goroutine waits for a job. It meets the runs service and the secrets through generated clients
// only.
package connectors

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"connectrpc.com/connect"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"

	"github.com/flyte-binary/flyte-binary/attempts"
	"github.com/flyte-binary/flyte-binary/attempts/mirror"
	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	"github.com/flyte-binary/flyte-binary/connectors/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

// Store reads and writes what jobs get and leave; blobstore.Store does.
type Store interface {
	verdict.Store
	WriteAll(ctx context.Context, uri string, body []byte) error
}

// Deps are the dependencies of the service. It does not close the pool. All but Apps, Tokens, PublicURL, Organization, LegacyEnv, Listener, Clock and Meter are required.
type Deps struct {
	Pool    *pgxpool.Pool
	Engine  mirror.Engine
	Sink    attempts.Sink
	Store   Store
	Secrets Secrets
	// Apps are the apps of type connector; nil means that there are none.
	Apps Apps
	// Tokens issues the tokens of attempts; nil where no one authenticates callers.
	Tokens Tokens
	// PublicURL is where jobs reach the server whose connectors get tokens of attempts.
	PublicURL string
	// Organization is what programs that connectors start get as theirs; empty for none.
	Organization string
	// LegacyEnv gives jobs the variables of Flyte 1, as executor.pod.legacyEnv does in pods.
	LegacyEnv bool
	// Listener receives notifications of Postgres for the whole process; nil means one of the service's own.
	Listener *pgdb.Listener
	Clock    clock.Clock
	Logger   zerolog.Logger
	// Meter gets the metrics; nil means none.
	Meter metric.MeterProvider
}

const (
	// maxKnown is how many assignments are cached, between their offer and the request for their jobs. A look at a job needs none.
	maxKnown = 512
	// maxSecrets is how many values of secrets are.
	maxSecrets = 1024
)

// registry is what the loops share.
type registry struct {
	config   Config
	deps     Deps
	store    *store.Store
	fleet    *fleet
	reporter attempts.Reporter
	known    *lru.Cache[int64, *enginev1.Assignment] // by uid, of actions that wait or run; what it says of attempts is old
	secrets  *lru.Cache[place, kept]
	meters   *meters
	logged   logged
	measured logged // which connectors have metrics of which types
	asked    *asked
	trouble  map[string]bool // of the loop discover: by connector, whether it did not answer
}

// Service calls the connectors, and says what they serve.
type Service struct {
	handler *handler
	parts   *lifecycle.Group
	fleet   *fleet
}

var _ lifecycle.Part = (*Service)(nil)

// New puts the service together; nothing runs until Start.
func New(config Config, deps Deps) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("connectors: %w", err)
	}
	if deps.Pool == nil || deps.Engine == nil || deps.Sink == nil || deps.Store == nil || deps.Secrets == nil {
		return nil, errors.New("connectors: the pool, the engine, the sink, the object store and the secrets are required")
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	if err := config.reachable(deps.PublicURL); err != nil {
		return nil, err
	}
	deps.Logger = deps.Logger.With().Str("service", "connectors").Logger()
	r := &registry{
		config: config, deps: deps, store: store.New(deps.Pool), trouble: map[string]bool{},
		reporter: attempts.Reporter{
			Source: "connector", Sink: deps.Sink, Assignments: deps.Engine, Clock: deps.Clock,
			Budget: verdict.Budget{
				MaxSystemFailures: config.MaxSystemFailures, SystemBackoff: config.SystemBackoff, MaxSystemBackoff: config.MaxBackoff,
			},
		},
	}
	var err error
	if r.known, err = lru.New[int64, *enginev1.Assignment](maxKnown); err != nil {
		return nil, fmt.Errorf("connectors: %w", err)
	}
	if r.secrets, err = lru.New[place, kept](maxSecrets); err != nil {
		return nil, fmt.Errorf("connectors: %w", err)
	}
	if r.asked, err = newAsked(); err != nil {
		return nil, fmt.Errorf("connectors: %w", err)
	}
	if r.meters, err = newMeters(deps.Meter, r.store); err != nil {
		return nil, fmt.Errorf("connectors: %w", err)
	}
	if r.fleet, err = newFleet(config, deps.Apps); err != nil {
		return nil, fmt.Errorf("connectors: %w", err)
	}
	return &Service{handler: &handler{store: r.store, registry: r}, parts: lifecycle.NewGroup(r.loops()...), fleet: r.fleet}, nil
}

// loops are those of the service: one that follows assignments, one that asks connectors what they serve, one that stores logs, and one for the jobs of
// each connector; apps have one together.
func (s *registry) loops() []lifecycle.Named {
	leases := pgdb.NewLeases(s.deps.Pool, s.deps.Clock, rand.Text()).In(store.LeaseTable)
	loop := func(name string, work func(context.Context) error) lifecycle.Named {
		return lifecycle.Named{Name: name, Part: &leased.Loop{Leases: leases, Name: name, Length: s.config.Lease, Work: work, Logger: s.deps.Logger}}
	}
	loops := []lifecycle.Named{
		{Name: "connector notifications", Part: pgdb.Listen(s.deps.Listener, s.deps.Pool, s.deps.Clock, s.deps.Logger,
			map[string]func(pgdb.Notification){store.Channel: s.fleet.heard})},
		loop("assignments", s.mirror),
		loop(logsLoop, s.keepLogs),
		loop("discovery", leased.Every(s.deps.Clock, s.config.Refresh, s.discover)),
	}
	for _, reached := range s.fleet.configured {
		loops = append(loops, loop("jobs "+reached.Name, s.worker(reached).work))
	}
	if s.deps.Apps != nil {
		loops = append(loops, loop(appsLoop, s.workApps))
	}
	return loops
}

// heard handles a notification on store.Channel. A new connection may have missed some.
func (f *fleet) heard(n pgdb.Notification) {
	for name, wake := range f.woken() {
		if n.Resync || n.Payload == name {
			select {
			case wake <- struct{}{}:
			default: // a token is there already
			}
		}
	}
}

// Mount registers the handlers.
func (s *Service) Mount(r rpc.Registrar) {
	options := connect.WithHandlerOptions(r.Options()...)
	r.Handle(enginev1connect.NewConnectorRegistryServiceHandler(s.handler, options))
	r.Handle(insightv1connect.NewConnectorInsightServiceHandler(s.handler, options))
}

// Start starts the loops.
func (s *Service) Start(ctx context.Context) error { return s.parts.Start(ctx) }

// Stop ends them. What they had to do, the next holders of their leases do.
func (s *Service) Stop(ctx context.Context) error {
	err := s.parts.Stop(ctx)
	s.fleet.close()
	return err
}
