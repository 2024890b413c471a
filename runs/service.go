package runs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/runs/admission"
	"github.com/flyte-binary/flyte-binary/runs/asks"
	"github.com/flyte-binary/flyte-binary/runs/builtin"
	"github.com/flyte-binary/flyte-binary/runs/cachelink"
	"github.com/flyte-binary/flyte-binary/runs/change"
	"github.com/flyte-binary/flyte-binary/runs/dispatch"
	"github.com/flyte-binary/flyte-binary/runs/images"
	"github.com/flyte-binary/flyte-binary/runs/placement"
	"github.com/flyte-binary/flyte-binary/runs/problems"
	"github.com/flyte-binary/flyte-binary/runs/projects"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/reclaim"
	"github.com/flyte-binary/flyte-binary/runs/retention"
	"github.com/flyte-binary/flyte-binary/runs/rollup"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/notices"
	"github.com/flyte-binary/flyte-binary/runs/store/watches"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
	"github.com/flyte-binary/flyte-binary/runs/stored"
	"github.com/flyte-binary/flyte-binary/runs/timers"
	"github.com/flyte-binary/flyte-binary/runs/tracked"
	"github.com/flyte-binary/flyte-binary/runs/watch"
	"github.com/flyte-binary/flyte-binary/runs/webhook"
)

// Service has the handlers of the Connect services and the loops behind them. It only composes: the behavior is in
// the packages below.
type Service struct {
	pool     *pgxpool.Pool
	clock    clock.Clock
	replica  string // identifies this process in notifications
	writer   *store.Writer
	hub      *watch.Hub
	handlers *handlers
	parts    *lifecycle.Group

	// For metrics.
	admission *admission.Loop
	queue     *worklists.QueueReader
	queues    *queues.Set
}

var _ lifecycle.Part = (*Service)(nil)

// New puts the service together; nothing runs until Start.
func New(config Config, deps Deps) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("runs: %w", err)
	}
	if deps.Pool == nil || deps.Blobs == nil {
		return nil, errors.New("runs: the pool and the object store are required")
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	meters, err := newMeters(deps.Meter)
	if err != nil {
		return nil, fmt.Errorf("runs: %w", err)
	}
	l, err := newLoops(config, deps, meters, rand.Text())
	if err != nil {
		return nil, fmt.Errorf("runs: %w", err)
	}
	s := &Service{
		pool: deps.Pool, clock: deps.Clock, replica: l.replica, writer: l.writer, hub: l.hub,
		admission: l.admission, queue: l.queue, queues: l.queues,
	}
	if err := s.measure(meters.meter); err != nil {
		return nil, fmt.Errorf("runs: %w", err)
	}
	s.handlers = newHandlers(config, deps, l)
	parts := []lifecycle.Named{
		{Name: "projects", Part: projects.Seeder{Store: l.projects, IDs: config.SeedProjects, Clock: deps.Clock}},
		{Name: "image builder", Part: images.Seeder{Builder: config.Images.Builder, Tasks: catalog.NewTaskWriter(deps.Pool), Clock: deps.Clock}},
		{Name: "writer", Part: l.writer},
		{Name: "notifications", Part: l.listener},
		{Name: "clusters", Part: l.placer},
		{Name: "admission", Part: l.admission},
		{Name: "cache", Part: l.cache},
		{Name: "timers", Part: l.timers},
		{Name: "webhooks", Part: l.webhooks},
		{Name: "artifacts", Part: l.artifacts},
		{Name: "problems", Part: l.problems},
		{Name: "roll-ups", Part: l.rollups},
		{Name: "watches", Part: l.hub},
		{Name: "retention", Part: l.retention},
		{Name: "stored bytes", Part: l.measurer},
	}
	if l.reclaim != nil {
		parts = append(parts, lifecycle.Named{Name: "reclaim", Part: l.reclaim})
	}
	if l.tracked != nil {
		parts = append(parts, lifecycle.Named{Name: "tracked runs", Part: l.tracked})
	}
	s.parts = lifecycle.NewGroup(parts...)
	return s, nil
}

// Mount registers every handler.
func (s *Service) Mount(r rpc.Registrar) { s.handlers.mount(r) }

// Start starts the writer and the loops.
func (s *Service) Start(ctx context.Context) error { return s.parts.Start(ctx) }

// Stop stops them again; writes in flight are committed first.
func (s *Service) Stop(ctx context.Context) error { return s.parts.Stop(ctx) }

// loops are the writer and all background loops, with the readers that they share.
type loops struct {
	replica   string
	meters    *meters
	rows      *lists.Reader
	tasks     *catalog.TaskReader
	lists     *lists.ReplicaReader
	live      *worklists.LiveReader
	projects  *catalog.Projects
	queue     *worklists.QueueReader
	queues    *queues.Set
	writer    *store.Writer
	feed      *dispatch.Feed
	listener  lifecycle.Part
	admission *admission.Loop
	places    *placement.Book
	asks      *asks.Reader
	placer    lifecycle.Part
	cache     *cachelink.Cache
	timers    *timers.Loop
	reclaim   *reclaim.Loop // may be nil
	webhooks  *webhook.Loop
	callbacks *webhook.Callbacks
	artifacts *artifactLoops
	problems  *problems.Loops
	rollups   *rollup.Loop
	hub       *watch.Hub
	retention *retention.Keeper
	stored    *stored.Guard
	measurer  *stored.Measurer
	tracked   *tracked.Service // may be nil
}

func newLoops(config Config, deps Deps, meters *meters, replica string) (*loops, error) {
	logger := deps.Logger.With().Str("service", "runs").Logger()
	leases := pgdb.NewLeases(deps.Pool, deps.Clock, replica)
	l := &loops{
		replica: replica, rows: lists.NewReader(deps.Pool), tasks: catalog.NewTaskReader(deps.Pool), live: worklists.NewLiveReader(deps.Pool), projects: catalog.NewProjects(deps.Pool),
		queue: worklists.NewQueueReader(deps.Pool), queues: queues.New(config.Queues), meters: meters,
	}
	l.lists = lists.NewReplicaReader(l.rows, deps.replicas())
	l.feed = dispatch.NewFeed(replica)
	l.hub = watch.NewHub(config.Watch, watch.HubDeps{
		Log: watches.NewReader(deps.Pool), Clock: deps.Clock, Logger: logger, Replica: replica,
		Lag: meters.lag,
	})
	l.listener = pgdb.Listen(deps.Listener, deps.Pool, deps.Clock, logger, map[string]func(pgdb.Notification){
		notices.ChannelLive: l.feed.Heard, notices.ChannelRuns: l.hub.Heard, notices.ChannelTracked: l.heardTracked, notices.ChannelLists: l.heardLists,
	})
	gateLease := ""
	if deps.Several {
		gateLease = admission.LeaseName
	}
	l.places = placement.NewBook(placement.New(config.Placement))
	placeable := worklists.NewPlacementReader(deps.Pool)
	l.asks = asks.NewReader(&deps.Launch.Asks, l.queues, placeable, l.live)
	l.writer = store.NewWriter(config.Writer, store.WriterDeps{
		Pool: deps.Pool, Clock: deps.Clock, Waker: l.hub, Live: l.feed, Queues: l.queues, Logger: logger, Replica: replica,
		Notify: deps.Outbox.NotifyPhases, EventSinks: deps.Outbox.EventSinks, GateLease: gateLease,
		Records: deps.Records, Places: l.places, Counts: true, Conditions: meters.conditions,
	})
	l.admission = admission.New(config.Admission, admission.Deps{
		Queue: l.queue, Queues: l.queues, Admit: l.writer, Gate: l.writer.Gate(), Signals: admissionSignals{l.feed.Subscribe()},
		Several: deps.Several, Leases: leases, Pace: deps.Pace, Clock: deps.Clock, Logger: logger, Places: l.places, Asks: l.asks,
	})
	l.placer = lifecycle.Idle{}
	if deps.Clusters != nil {
		l.placer = admission.NewPlaces(admission.PlacesDeps{
			Book: l.places, Clusters: deps.Clusters, Changed: deps.ClustersChanged, Held: l.asks, Writer: l.writer, Admits: l.admission.Admits, Clock: deps.Clock, Logger: logger,
		})
	}
	caching := config.Cache
	caching.Shared = caching.Shared || !deps.Tenants
	l.cache = cachelink.New(caching, cachelink.Deps{
		Scoped: deps.Peers.Cache, Global: deps.Peers.GlobalCache, Reader: worklists.NewCacheReader(deps.Pool), Settler: l.writer,
		Keys: worklists.NewReservedKeys(deps.Pool), Specs: l.live, Blobs: deps.Blobs, Far: farFrom(l.places, placeable), Leases: leases,
		Lookups: cacheSignals{l.feed.Subscribe()}, Waits: cacheSignals{l.feed.Subscribe()}, Clock: deps.Clock, Logger: logger,
	})
	l.timers = timers.New(config.Timers, timers.Deps{
		Reader: worklists.NewDueReader(deps.Pool), Writer: &change.Waker{Cache: l.cache, Writer: l.writer},
		Starter: builtin.New(deps.Blobs, l.live, logger), Leases: leases, Signals: timerSignals{l.feed.Subscribe(), deps.Clock},
		Clock: deps.Clock, Logger: logger,
	})
	l.reclaim = newReclaim(config, deps, l, leases, logger)
	list := worklists.NewWebhooks(deps.Pool)
	tokens := webhook.NewTokens(config.Webhooks.SigningKey, list)
	l.callbacks = &webhook.Callbacks{Tokens: tokens, Conditions: list, Signal: l.writer, Clock: deps.Clock, Logger: logger}
	var err error
	if l.webhooks, err = webhook.New(config.Webhooks, webhook.Deps{
		List: list, Writer: l.writer, Tokens: tokens, Leases: leases, Clock: deps.Clock, Logger: logger,
	}); err != nil {
		return nil, fmt.Errorf("webhooks: %w", err)
	}
	if l.tracked, err = newTracked(config, deps, l, leases); err != nil {
		return nil, fmt.Errorf("tracked.%w", err)
	}
	if l.artifacts, err = newArtifacts(config.Artifacts, deps, leases, logger); err != nil {
		return nil, fmt.Errorf("artifacts: %w", err)
	}
	l.problems = newProblems(config.Problems, deps, leases, logger)
	l.rollups = newRollups(config, deps, l, leases, logger)
	if err = l.newStored(config.Stored, deps, leases, logger); err != nil {
		return nil, err
	}
	l.retention, err = newRetention(config.Retention, deps, replica)
	return l, err
}
