// Package access decides who calls, what they may do, and keeps what was done. It serves the services of
// flytebinary.access.v1, IdentityService and AuthMetadataService, and the pages of the sign-in. Its decisions reach calls through
// the chain of internal/wire/rpc: it is the authenticator, the authoriser and the auditor of that chain. It depends on Postgres
// and knows no other service.
package access

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/flyte-binary/flyte-binary/access/accounts"
	"github.com/flyte-binary/flyte-binary/access/audit"
	"github.com/flyte-binary/flyte-binary/access/authserver"
	"github.com/flyte-binary/flyte-binary/access/keys"
	"github.com/flyte-binary/flyte-binary/access/limits"
	"github.com/flyte-binary/flyte-binary/access/policy"
	"github.com/flyte-binary/flyte-binary/access/rights"
	"github.com/flyte-binary/flyte-binary/access/signin"
	"github.com/flyte-binary/flyte-binary/access/signing"
	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/access/tasks"
	"github.com/flyte-binary/flyte-binary/access/visitors"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/access/v1/accessv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/certfiles"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

// Deps are the dependencies of the service. It does not close the pool.
type Deps struct {
	Pool *pgxpool.Pool
	// Listener receives notifications of Postgres for the whole process; nil means one of the service's own.
	Listener *pgdb.Listener
	Clock    clock.Clock
	Logger   zerolog.Logger
	// Meter gets the metrics; nil means none.
	Meter metric.MeterProvider
	// Attempts knows which attempts are live, for the tokens of tasks. Required.
	Attempts tasks.Attempts
	// Backlog knows how much callers and projects have under way, for their limits; nil if no one does.
	Backlog rights.Backlog
	// Uploads knows how much callers and projects have uploaded within a day, for their limits; nil if no one does.
	Uploads rights.Uploads
	// Apps knows which apps run, for theirs; nil if no app gets one.
	Apps tasks.Apps
	// Located keeps the controllers of clusters to what runs there; nil if no controller has a credential of its own.
	Located tasks.Located
	// Tokens gives tasks tokens, because they may do nothing without.
	Tokens bool
	// Open means that everybody may do everything, so that nothing is asked of the policy.
	Open bool
}

// Service is the access control of one process.
type Service struct {
	config Config
	store  *store.Store
	policy *policy.Policy
	keys   *keys.Keys
	rights *rights.Handler
	tasks  *tasks.Tokens
	signIn *signIn // nil where access is open
	audit  *audit.Recorder
	limits *limits.Limiter
	clock  clock.Clock
	// assertions tell apps who calls; nil where access is open.
	assertions *visitors.Assertions
	parts      *lifecycle.Group
}

var _ lifecycle.Part = (*Service)(nil)

// New puts the service together; nothing runs until Start.
func New(config Config, deps Deps) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	if deps.Pool == nil || deps.Attempts == nil {
		return nil, errors.New("access: the pool and the attempts are required")
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	if deps.Meter == nil {
		deps.Meter = noop.NewMeterProvider()
	}
	s := &Service{config: config, clock: deps.Clock, store: store.New(deps.Pool, deps.Clock)}
	s.keys = keys.New(s.store, deps.Clock, deps.Logger)
	s.policy = policy.New(config.policy(), policy.Deps{Source: s.store, Changed: s.keys.Forget, Clock: deps.Clock, Logger: deps.Logger, Idle: deps.Open})
	var err error
	if s.limits, err = limits.New(config.Limits, deps.Clock, deps.Meter); err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}
	s.rights = rights.NewHandler(config.rights(deps.Open), rights.Deps{Store: s.store, Policy: s.policy, Keys: s.keys, Limits: s.limits, Backlog: deps.Backlog, Uploads: deps.Uploads, Clock: deps.Clock})
	s.tasks = tasks.New(deps.Tokens, tasks.Deps{
		Keys: signing.NewRing(tasks.Keys(), s.store, deps.Clock), Attempts: deps.Attempts, Apps: deps.Apps, Located: deps.Located, Clock: deps.Clock,
	})
	listener := pgdb.Listen(deps.Listener, deps.Pool, deps.Clock, deps.Logger, map[string]func(pgdb.Notification){
		store.Channel: func(pgdb.Notification) { s.policy.Notice() },
	})
	s.audit = audit.NewRecorder(s.store, deps.Open, deps.Clock, deps.Logger)
	leases := pgdb.NewLeases(deps.Pool, deps.Clock, rand.Text()).In(store.LeaseTable)
	keeper := audit.NewKeeper(s.store, leases, config.Audit.KeepFor, deps.Clock, deps.Logger)
	parts := []lifecycle.Named{
		{Name: "notifications", Part: listener}, {Name: "policy", Part: s.policy}, {Name: "keys", Part: s.keys},
		{Name: "audit", Part: s.audit}, {Name: "audit keeper", Part: keeper},
	}
	if config.Authenticates() {
		if s.signIn, err = newSignIn(config, s.store, s.keys, s.audit, deps.Clock, deps.Logger); err != nil {
			return nil, fmt.Errorf("access: %w", err)
		}
		parts = append(parts, lifecycle.Named{Name: "sign-in", Part: s.signIn})
	}
	if deps.Tokens {
		if s.assertions, err = visitors.NewAssertions(strings.TrimSuffix(config.PublicURL, "/"), s.store, deps.Clock); err != nil {
			return nil, fmt.Errorf("access: %w", err)
		}
	}
	s.parts = lifecycle.NewGroup(parts...)
	return s, nil
}

func (c Config) rights(open bool) rights.Config {
	return rights.Config{
		Open: open, LocalAccounts: c.Local.Enabled, LocalPrefix: c.localPrefix(),
		Keys: rights.KeyConfig{MaxLifetime: c.Keys.MaxLifetime, PublicURL: c.PublicURL},
	}
}

// Mount registers the handlers.
func (s *Service) Mount(r rpc.Registrar) {
	s.signIn.mount(r)
	if pages := s.pages(); pages != nil {
		r.Handle(signin.Path, pages)
	}
	r.Handle(accessv1connect.NewAccessServiceHandler(s.rights, r.Options()...))
	people := &accounts.Handler{Store: s.store, Changed: s.rights.Changed}
	if s.signIn != nil {
		people.Accounts, people.Sessions = s.signIn.accounts, s.signIn.sessions
	}
	r.Handle(accessv1connect.NewAccountServiceHandler(people, r.Options()...))
	r.Handle(accessv1connect.NewAuditServiceHandler(&audit.Handler{Store: s.store, Clock: s.clock}, r.Options()...))
	r.Handle(enginev1connect.NewTaskTokenServiceHandler(s.tasks, r.Options()...))
	r.Handle(accessv1connect.NewKeyServiceHandler(rights.KeyHandler{Handler: s.rights}, r.Options()...))
}

// pages are those of the sign-in, and the keys for apps; nil where access is open.
func (s *Service) pages() http.Handler {
	if s.signIn == nil && s.assertions == nil {
		return nil
	}
	mux := http.NewServeMux()
	if s.signIn != nil {
		mux.Handle(signin.Path, s.signIn.pages.Handler())
	}
	if s.assertions != nil {
		mux.HandleFunc("GET "+visitors.KeysPath, s.assertions.Keys)
		mux.HandleFunc("GET "+visitors.DiscoveryPath, s.assertions.Discovery)
	}
	return mux
}

// Assertions tells apps who calls them; nil where access is open.
func (s *Service) Assertions() *visitors.Assertions { return s.assertions }

// AuthorizationServer issues the tokens of people; nil where no one signs in.
func (s *Service) AuthorizationServer() *authserver.Server {
	if s.signIn == nil {
		return nil
	}
	return s.signIn.server
}

// Visitors lets browsers sign in at the hosts of apps; nil where no one signs in.
func (s *Service) Visitors() *visitors.Visitors {
	if s.signIn == nil {
		return nil
	}
	return s.signIn.visitors
}

// ProxyAuthorities issue the certificate of the proxy that authenticates people; nil if there is none.
func (s *Service) ProxyAuthorities() *certfiles.Authorities {
	if s.signIn == nil {
		return nil
	}
	return s.signIn.authorities
}

// Tasks identifies tasks and apps by the tokens that the service has issued.
func (s *Service) Tasks() authz.Authenticator { return s.tasks }

// Authenticator identifies people; nil where access is open.
func (s *Service) Authenticator() authz.Authenticator {
	if s.signIn == nil {
		return nil
	}
	return s.signIn
}

// Start starts the loops.
func (s *Service) Start(ctx context.Context) error {
	if err := s.store.Locate(ctx); err != nil {
		return err
	}
	return s.parts.Start(ctx)
}

// Stop ends them.
func (s *Service) Stop(ctx context.Context) error { return s.parts.Stop(ctx) }
