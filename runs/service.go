package runs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"

	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/auth/authconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/cacheserviceconnect"
	cachev2connect "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/v2/v2connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/imagebuilder/imagebuilderconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/org/orgconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project/projectconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings/settingsconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task/taskconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/internal/lifecycle"
	"github.com/flyte-binary/flyte-binary/internal/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs/admission"
	"github.com/flyte-binary/flyte-binary/runs/builtin"
	"github.com/flyte-binary/flyte-binary/runs/caching"
	"github.com/flyte-binary/flyte-binary/runs/engine"
	"github.com/flyte-binary/flyte-binary/runs/queues"
	"github.com/flyte-binary/flyte-binary/runs/retention"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/timers"
	"github.com/flyte-binary/flyte-binary/runs/watch"
	"github.com/flyte-binary/flyte-binary/runs/webhook"
)

// Blobs is what the service needs of the object store.
type Blobs interface {
	// Root is the URI below which everything lies, without a trailing slash.
	Root() string
	// ReadAll reads a whole object of at most limit bytes.
	ReadAll(ctx context.Context, uri string, limit int64) ([]byte, error)
	// Stat describes an object without reading it.
	Stat(ctx context.Context, uri string) (blobstore.Info, error)
	// WriteAll writes a whole object; it is there completely or not at all.
	WriteAll(ctx context.Context, uri string, body []byte) error
	// DeletePrefix deletes every object below a directory, which ends with a slash.
	DeletePrefix(ctx context.Context, uri string) error
}

// Deps are what the service stands on. The pool and the blobs are not closed by it.
type Deps struct {
	Pool   *pgxpool.Pool
	Blobs  Blobs
	Clock  clock.Clock
	Logger zerolog.Logger
	// Cache and GlobalCache reach the cache of outputs, by project and domain and for all; without them it is off.
	Cache       cachev2connect.CacheServiceClient
	GlobalCache cacheserviceconnect.CacheServiceClient
	// Meter gets the metrics; nil means none.
	Meter metric.MeterProvider
	// RunDeleted, where set, is told of each run that retention deletes, to clean up what lies elsewhere. It may be
	// told twice; an error makes it be told again.
	RunDeleted func(ctx context.Context, run ident.Run) error
}

// Service is runs: the handlers of its Connect services and the loops behind them.
type Service struct {
	config    Config
	pool      *pgxpool.Pool
	blobs     Blobs
	clock     clock.Clock
	logger    zerolog.Logger
	replica   string        // tells this process from others in notifications
	lists     *store.Reader // lists and details
	tasks     *store.TaskWriter
	projects  *store.Projects
	settings  *settingsResolver
	writer    *store.Writer
	queues    *queues.Set
	queue     *store.QueueReader
	admission *admission.Loop
	feed      *engine.Feed
	timers    *timers.Loop
	webhooks  *webhook.Loop
	callbacks *webhook.Callbacks
	cache     *caching.Cache
	live      *store.LiveReader
	engine    *engine.Assignments
	retention *retention.Keeper
	hub       *watch.Hub
	streams   *watch.Streams
	wakers    *wakers
	contexts  *runContexts
	parts     *lifecycle.Group
}

var _ lifecycle.Part = (*Service)(nil)

// New puts the service together; nothing runs until Start.
func New(config Config, deps Deps) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("runs: %w", err)
	}
	if deps.Pool == nil || deps.Blobs == nil {
		return nil, errors.New("runs: the pool and the object store are needed")
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	s := &Service{
		config: config,
		pool:   deps.Pool,
		blobs:  deps.Blobs,
		clock:  deps.Clock,
		logger: deps.Logger.With().Str("service", "runs").Logger(),

		replica: rand.Text(),
		lists:   store.NewReader(deps.Pool),
		tasks:   store.NewTaskWriter(deps.Pool),
		wakers:  &wakers{},

		projects: store.NewProjects(deps.Pool),
		queues:   queues.New(config.Queues),
		queue:    store.NewQueueReader(deps.Pool),
	}
	s.contexts = &runContexts{svc: s}
	s.settings = newSettingsResolver(store.NewSettings(deps.Pool), deps.Clock)
	s.feed = engine.NewFeed(deps.Pool, deps.Clock, s.logger, s.replica)
	s.writer = store.NewWriter(config.Writer, store.WriterDeps{
		Pool: deps.Pool, Clock: deps.Clock, Waker: s.wakers, Live: s.feed, Queues: s.queues, Logger: s.logger, Replica: s.replica,
	})
	s.admission = admission.New(config.Admission, admission.Deps{
		Queue: s.queue, Queues: s.queues, Admit: s.writer, Gate: s.writer.Gate(), Signals: admissionSignals{s.feed.Subscribe()},
		Leases: pgdb.NewLeases(deps.Pool, deps.Clock, s.replica), Clock: deps.Clock, Logger: s.logger,
	})
	s.live = store.NewLiveReader(deps.Pool)
	s.engine = engine.NewAssignments(config.Assignments, engine.Deps{
		Reader: s.live, Feed: s.feed, Clock: deps.Clock, Logger: s.logger,
	})
	s.cache = newCache(s, deps)
	s.timers = timers.New(config.Timers, timers.Deps{
		Reader: store.NewDueReader(deps.Pool), Writer: ownEnds{s}, Starter: builtin.New(deps.Blobs, s.live, s.logger),
		Leases: pgdb.NewLeases(deps.Pool, deps.Clock, s.replica), Signals: timerSignals{s.feed.Subscribe(), deps.Clock},
		Clock: deps.Clock, Logger: s.logger,
	})
	keeper, err := newRetention(config.Retention, deps, s.replica)
	if err != nil {
		return nil, fmt.Errorf("runs: %w", err)
	}
	s.retention = keeper
	if err := s.newWebhooks(); err != nil {
		return nil, fmt.Errorf("runs: webhooks: %w", err)
	}
	s.hub, s.streams = newWatches(s)
	s.wakers.add(s.hub)
	s.parts = lifecycle.NewGroup(
		lifecycle.Named{Name: "projects", Part: seeder{svc: s}},
		lifecycle.Named{Name: "writer", Part: s.writer},
		lifecycle.Named{Name: "live feed", Part: s.feed},
		lifecycle.Named{Name: "admission", Part: s.admission},
		lifecycle.Named{Name: "cache", Part: s.cache},
		lifecycle.Named{Name: "timers", Part: s.timers},
		lifecycle.Named{Name: "webhooks", Part: s.webhooks},
		lifecycle.Named{Name: "watches", Part: s.hub},
		lifecycle.Named{Name: "retention", Part: s.retention},
	)
	return s, nil
}

// Mount registers every handler.
func (s *Service) Mount(r rpc.Registrar) {
	options := r.Options()
	r.Handle(workflowconnect.NewRunServiceHandler(&runHandler{svc: s}, options...))
	r.Handle(workflowconnect.NewInternalRunServiceHandler(&internalHandler{svc: s}, options...))
	r.Handle(taskconnect.NewTaskServiceHandler(&taskHandler{svc: s}, options...))
	r.Handle(projectconnect.NewProjectServiceHandler(&projectHandler{svc: s}, options...))
	r.Handle(orgconnect.NewDomainServiceHandler(&domainHandler{svc: s}, options...))
	r.Handle(settingsconnect.NewSettingsServiceHandler(&settingsHandler{svc: s}, options...))
	r.Handle(authconnect.NewIdentityServiceHandler(&identityHandler{svc: s}, options...))
	r.Handle(authconnect.NewAuthMetadataServiceHandler(&authMetadataHandler{svc: s}, options...))
	r.Handle(imagebuilderconnect.NewImageServiceHandler(&imageHandler{svc: s}, options...))
	r.Handle(enginev1connect.NewEngineServiceHandler(&engineHandler{svc: s}, options...))
	r.Handle(webhook.Path, s.callbacks)
	r.Handle(insightv1connect.NewInsightServiceHandler(&insightHandler{svc: s}, options...))
}

// Start starts the writer and the loops.
func (s *Service) Start(ctx context.Context) error { return s.parts.Start(ctx) }

// Stop stops them again; writes under way are committed first.
func (s *Service) Stop(ctx context.Context) error { return s.parts.Stop(ctx) }

// wakers hands the wake-up of a commit to everybody who waits for changes of runs.
type wakers struct{ all []store.Waker }

// add is called before Start only.
func (w *wakers) add(more ...store.Waker) { w.all = append(w.all, more...) }

// Wake implements store.Waker.
func (w *wakers) Wake(runIDs ...int64) {
	for _, waker := range w.all {
		waker.Wake(runIDs...)
	}
}

// admissionSignals shows the live feed as admission wants to see it.
type admissionSignals struct{ *engine.Subscription }

// Take implements admission.Signals.
func (a admissionSignals) Take() (queued, moved bool) {
	changes := a.Subscription.Take()
	elsewhere := changes.Resync || len(changes.Runs) > 0
	return changes.Queued || elsewhere, elsewhere || len(changes.Live) > 0
}

// timerSignals shows the live feed as the timers want to see it.
type timerSignals struct {
	*engine.Subscription
	clock clock.Clock
}

// Take implements timers.Signals. What another replica changed may be due at once.
func (t timerSignals) Take() time.Time {
	changes := t.Subscription.Take()
	if changes.Resync || len(changes.Runs) > 0 {
		return t.clock.Now()
	}
	return changes.Due
}
