package notifications

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"

	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/outbound"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/notifications/store"
)

// Deps are the dependencies of the service. Pool and Outbox are required; the service does not close the pool.
type Deps struct {
	Pool   *pgxpool.Pool
	Outbox Outbox
	// Listener receives OutboxChannel of Postgres, on which new entries of the outbox are announced; nil means that they are found by
	// looking every Config.Poll.
	Listener      *pgdb.Listener
	OutboxChannel string
	Clock         clock.Clock
	Logger        zerolog.Logger
	// Meter gets the metrics; nil means none.
	Meter metric.MeterProvider
}

// Service has the loops that deliver notifications, and answers calls about their outcome.
type Service struct {
	lifecycle.Background
	config  Config
	expand  *expander
	queue   *leased.Queue // of deliveries
	leases  *pgdb.Leases
	handler *handler
	client  *http.Client
	logger  zerolog.Logger
}

var _ lifecycle.Part = (*Service)(nil)

// New puts the service together; nothing runs until Start.
func New(config Config, deps Deps) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("notifications: %w", err)
	}
	if deps.Pool == nil || deps.Outbox == nil {
		return nil, errors.New("notifications: the pool and the outbox are required")
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	b, err := newBook(config)
	if err != nil {
		return nil, fmt.Errorf("notifications: %w", err)
	}
	client, err := outbound.NewClient(outbound.Config{
		Allow: config.Allow, Proxy: config.Proxy, Timeout: config.Timeout, Setting: "notifications.allow",
	})
	if err != nil {
		return nil, fmt.Errorf("notifications: %w", err)
	}
	mails, err := newMailer(config, deps.Clock)
	if err != nil {
		return nil, fmt.Errorf("notifications: email.%w", err)
	}
	list := store.New(deps.Pool)
	counted, err := newMetrics(deps.Meter, deps.Outbox, list, deps.Clock)
	if err != nil {
		return nil, fmt.Errorf("notifications: %w", err)
	}
	logger := deps.Logger.With().Str("service", "notifications").Logger()
	s := &Service{config: config, client: client, logger: logger}
	deliver := &deliverer{
		config: config, book: b, store: list, clock: deps.Clock, logger: logger, webhook: &webhooks{client: client}, email: mails,
		metrics: counted, places: outbound.NewPlaces(config.Parallel),
	}
	s.queue = &leased.Queue{Clock: deps.Clock, Poll: config.Poll, Launch: deliver.launch}
	s.expand = &expander{config: config, book: b, outbox: deps.Outbox, store: list, clock: deps.Clock, logger: logger, wake: s.queue.Wake, fresh: make(chan struct{}, 1)}
	if deps.Listener != nil {
		deps.Listener.Hear(map[string]func(pgdb.Notification){deps.OutboxChannel: s.expand.heard})
	}
	s.leases = pgdb.NewLeases(deps.Pool, deps.Clock, rand.Text()).In(store.LeaseTable)
	s.handler = &handler{store: list, clock: deps.Clock, wake: s.queue.Wake, book: b, deliver: deliver, tests: make(chan struct{}, maxTests)}
	return s, nil
}

// Mount registers the handlers.
func (s *Service) Mount(r rpc.Registrar) {
	r.Handle(insightv1connect.NewNotificationServiceHandler(s.handler, r.Options()...))
}

// Start starts the loops. Stop ends them; tries in flight get two seconds.
func (s *Service) Start(ctx context.Context) error {
	return s.Run(s.logger.WithContext(ctx),
		leased.While(s.leases, leaseName, s.config.Lease, s.expand.work),
		func(ctx context.Context) {
			defer s.client.CloseIdleConnections()
			_ = s.queue.Work(ctx) // always nil
		},
	)
}
