package tracked

import (
	"context"
	"errors"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/runs/actiondata"
	"github.com/flyte-binary/flyte-binary/runs/change"
	"github.com/flyte-binary/flyte-binary/runs/find"
	"github.com/flyte-binary/flyte-binary/runs/inputpreview"
	"github.com/flyte-binary/flyte-binary/runs/insight"
	"github.com/flyte-binary/flyte-binary/runs/read"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/notices"
	"github.com/flyte-binary/flyte-binary/runs/store/queries"
	"github.com/flyte-binary/flyte-binary/runs/store/watches"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
	"github.com/flyte-binary/flyte-binary/runs/timers"
	"github.com/flyte-binary/flyte-binary/runs/watch"
)

// LeaseName is the lease of the loop that ends runs whose client is silent, and what is left of aborted ones.
const LeaseName = "tracked"

// poll is how often that loop looks. Its work is never urgent.
const poll = 5 * time.Second

// Objects is the object store; blobstore.Store is one.
type Objects interface {
	actiondata.Objects
	inputpreview.Objects
	// Root is the URI prefix of all objects, without a trailing slash.
	Root() string
}

// Deps are the dependencies of the service. All but Meter and Records are required.
type Deps struct {
	// Pool sees the tables of store.TrackedSchema.
	Pool    *pgxpool.Pool
	Objects Objects
	Places  Places
	Access  Access
	Tasks   Tasks
	Leases  *pgdb.Leases
	Clock   clock.Clock
	Logger  zerolog.Logger
	Meter   metric.MeterProvider
	// Records are the audit records of calls; nil means that none is committed with what it is of.
	Records store.Records
	// Replica is the name with which the writer signs its notifications.
	Replica string
	// Writer and Watch are the configurations that runs of the installation have.
	Writer store.WriterConfig
	Watch  watch.Config
}

// Service serves TrackedRunService, and what the other services ask about tracked runs.
type Service struct {
	*lifecycle.Group
	// Storage locates the data of actions.
	Storage *Storage
	// Questions are those of InsightService that tracked runs have answers to.
	Questions Questions
	// Index finds runs by name.
	Index insight.Index
	// Queries finds runs by the language of queries.
	Queries find.Source

	hub     *watch.Hub
	handler handler
}

var _ lifecycle.Part = (*Service)(nil)

// Questions are about one run each.
type Questions struct {
	*insight.Errors
	*insight.Transitions
	*insight.Describer
	*insight.DataFlow
	streams *watch.Streams
}

// WatchRunActions implements insightv1connect.InsightServiceHandler.
func (q Questions) WatchRunActions(
	ctx context.Context, r *insightv1.WatchRunActionsRequest, stream *connect.ServerStream[insightv1.WatchRunActionsResponse],
) error {
	return q.streams.WatchRunActions(ctx, r, stream)
}

// handler serves TrackedRunService.
type handler struct {
	*Creator
	*Reporter
	*change.Aborter
	*read.Details
	*read.Lists
	*watch.Streams
}

// New returns a service that has not been started.
func New(config Config, deps Deps) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if deps.Pool == nil || deps.Leases == nil {
		return nil, errors.New("the pool and the leases are required")
	}
	counts, err := newCounter(deps.Meter)
	if err != nil {
		return nil, err
	}
	logger := deps.Logger.With().Str("runs", "tracked").Logger()
	log := watches.NewReader(deps.Pool)
	hub := watch.NewHub(deps.Watch, watch.HubDeps{Log: log, Clock: deps.Clock, Logger: logger, Replica: deps.Replica})
	writer := store.NewWriter(deps.Writer, store.WriterDeps{
		Pool: deps.Pool, Clock: deps.Clock, Waker: hub, Logger: logger, Replica: deps.Replica, Records: deps.Records,
		Channels: store.Channels{Runs: notices.ChannelTracked}, Silence: config.Silence,
	})
	rows := lists.NewReader(deps.Pool)
	details := &read.Details{Rows: rows, Waits: noWaits{}}
	streams := watch.NewStreams(deps.Watch, watch.Deps{Hub: hub, Reader: log, Details: details, Clock: deps.Clock})
	due := timers.DefaultConfig()
	due.Poll = poll
	loop := timers.New(due, timers.Deps{
		Reader: worklists.NewDueReader(deps.Pool), Writer: writer, Leases: deps.Leases, Signals: noSignals{}, Clock: deps.Clock,
		Logger: logger, Lease: LeaseName,
	})
	root := deps.Objects.Root()
	inputs := inputpreview.NewReader(deps.Objects)
	return &Service{
		Group: lifecycle.NewGroup(
			lifecycle.Named{Name: "writer of tracked runs", Part: writer},
			lifecycle.Named{Name: "timers of tracked runs", Part: loop},
			lifecycle.Named{Name: "watches of tracked runs", Part: hub},
		),
		Storage: &Storage{Rows: rows, Root: root},
		Index:   rows,
		Queries: find.Source{Reader: queries.NewReader(deps.Pool), Inputs: inputs},
		Questions: Questions{
			Errors: &insight.Errors{Failures: rows}, Transitions: &insight.Transitions{Actions: rows},
			Describer: &insight.Describer{Actions: rows, Inputs: inputs},
			DataFlow:  &insight.DataFlow{Actions: rows, Objects: deps.Objects}, streams: streams,
		},
		hub: hub,
		handler: handler{
			Creator:  &Creator{Root: root, Places: deps.Places, Access: deps.Access, Tasks: deps.Tasks, Writer: writer, Rows: rows},
			Reporter: &Reporter{Root: root, Access: deps.Access, Writer: writer, Clock: deps.Clock, Counts: counts},
			Aborter:  &change.Aborter{Writer: writer},
			Details:  details,
			Lists:    &read.Lists{Rows: rows},
			Streams:  streams,
		},
	}, nil
}

// Mount adds the service to a mux.
func (s *Service) Mount(r rpc.Registrar) {
	r.Handle(workflowconnect.NewTrackedRunServiceHandler(s.handler, connect.WithHandlerOptions(r.Options()...)))
}

// Heard handles a notification on store.ChannelTracked.
func (s *Service) Heard(n pgdb.Notification) { s.hub.Heard(n) }

func newCounter(provider metric.MeterProvider) (metric.Int64Counter, error) {
	if provider == nil {
		provider = noop.NewMeterProvider()
	}
	const name = "flyte.tracked.reports"
	counter, err := provider.Meter("github.com/flyte-binary/flyte-binary/runs/tracked").Int64Counter(name,
		metric.WithDescription("reports about actions of tracked runs, by outcome"))
	if err != nil {
		return nil, fmt.Errorf("make metric %s: %w", name, err)
	}
	return counter, nil
}

// noWaits explains nothing: a tracked action waits for nothing here.
type noWaits struct{}

// Of implements read.Waits.
func (noWaits) Of(context.Context, *lists.Standing) (*insightv1.Wait, error) { return nil, nil } //nolint:nilnil // it does not wait

// noSignals leaves the loop to its poll.
type noSignals struct{}

// Ready implements timers.Signals.
func (noSignals) Ready() <-chan struct{} { return nil }

// Take implements timers.Signals.
func (noSignals) Take() time.Time { return time.Time{} }
