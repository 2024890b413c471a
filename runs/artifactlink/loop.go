// Package artifactlink connects runs with artifacts: it has the outputs that tasks declare as artifacts registered, and
// says which runs have which artifacts among their inputs. The transaction that ends an action lists its outputs; one
// replica, the holder of a lease, passes them to the artifact service until each is registered. Registering is
// idempotent, so a crash at any point repeats it and creates nothing twice.
package artifactlink

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"google.golang.org/protobuf/proto"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// LeaseName is the lease of the loop.
const LeaseName = "artifacts"

// Registry registers outputs and finds uses; the client of ArtifactRegistryService is one.
type Registry interface {
	Finder
	RegisterOutputs(ctx context.Context, r *enginev1.RegisterOutputsRequest) (*enginev1.RegisterOutputsResponse, error)
}

// List is the list of outputs; worklists.Produced is one.
type List interface {
	Pending(ctx context.Context, now time.Time, longest time.Duration, limit int) ([]worklists.ProducedOutputs, error)
	Postpone(ctx context.Context, id int64, tries int, next time.Time) error
	Done(ctx context.Context, id int64) error
}

// Deps are the dependencies of the loop.
type Deps struct {
	List     List
	Registry Registry
	Leases   leased.Leases
	Clock    clock.Clock
	Logger   zerolog.Logger
	// Meter creates the metrics; nil means none.
	Meter metric.MeterProvider
}

// Loop has outputs registered.
type Loop struct {
	lifecycle.Background
	config     Config
	deps       Deps
	registered metric.Int64Counter
	queue      *leased.Queue

	mu      sync.Mutex
	flights map[int64]bool // the registrations in flight; GUARDED_BY(mu)
}

var _ lifecycle.Part = (*Loop)(nil)

// New returns the loop; it does nothing before Start.
func New(config Config, deps Deps) (*Loop, error) {
	if deps.Meter == nil {
		deps.Meter = noop.NewMeterProvider()
	}
	const name = "flyte.artifacts.registrations"
	counter, err := deps.Meter.Meter("github.com/flyte-binary/flyte-binary/runs/artifactlink").Int64Counter(name,
		metric.WithDescription("artifacts that tasks declared, by outcome: created, existing, refused or failed"))
	if err != nil {
		return nil, fmt.Errorf("make metric %s: %w", name, err)
	}
	l := &Loop{config: config, deps: deps, registered: counter, flights: map[int64]bool{}}
	l.queue = &leased.Queue{Clock: deps.Clock, Poll: config.Poll, Launch: l.launch}
	return l, nil
}

// Start implements lifecycle.Part.
func (l *Loop) Start(ctx context.Context) error {
	return l.Run(l.deps.Logger.WithContext(ctx), leased.While(l.deps.Leases, LeaseName, l.config.Lease, l.queue.Work))
}

// launch starts due registrations as long as there are free places.
func (l *Loop) launch(ctx context.Context, start func(do func())) error {
	pending, err := l.deps.List.Pending(ctx, l.deps.Clock.Now(), backoff.Longest(l.config.Backoff.Max), 4*l.config.Parallel)
	if err != nil {
		return fmt.Errorf("produced outputs: %w", err)
	}
	for _, outputs := range pending {
		if l.board(outputs.ID) {
			start(func() {
				defer l.land(outputs.ID)
				l.register(ctx, &outputs)
			})
		}
	}
	return nil
}

func (l *Loop) board(id int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.flights[id] || len(l.flights) >= l.config.Parallel {
		return false
	}
	l.flights[id] = true
	return true
}

func (l *Loop) land(id int64) {
	l.mu.Lock()
	delete(l.flights, id)
	l.mu.Unlock()
}

// Wake makes the loop read its list at once.
func (l *Loop) Wake() { l.queue.Wake() }

// register makes one try. What can never be registered is logged and dropped: the run has succeeded, whatever its
// declarations are.
func (l *Loop) register(ctx context.Context, outputs *worklists.ProducedOutputs) {
	log := l.deps.Logger.With().Str("run", outputs.Action.Run.String()).Str("action", outputs.Action.Name).Logger()
	response, err := l.try(ctx, outputs)
	switch {
	case ctx.Err() != nil:
		return
	case err == nil:
		l.count(ctx, "created", int64(response.GetCreated()))
		l.count(ctx, "existing", int64(response.GetExisting()))
		l.count(ctx, "refused", int64(len(response.GetRefused())))
		for _, reason := range response.GetRefused() {
			log.Warn().Str("reason", reason).Msg("artifact not registered: its declaration is invalid")
		}
		failpoint.Here("artifacts.after-register")
		err = l.deps.List.Done(ctx, outputs.ID)
	case permanent(err):
		l.count(ctx, "refused", 1)
		log.Warn().Err(err).Msg("registering declared artifacts failed permanently; giving up")
		err = l.deps.List.Done(ctx, outputs.ID)
	default:
		l.count(ctx, "failed", 1)
		try := outputs.Tries + 1
		pause := backoff.After(l.config.Backoff.First, l.config.Backoff.Max, try)
		log.Warn().Err(err).Int("try", try).Dur("retry_in", pause).Msg("registering declared artifacts failed; retrying")
		err = l.deps.List.Postpone(ctx, outputs.ID, try, l.deps.Clock.Now().Add(pause))
	}
	if err != nil && ctx.Err() == nil {
		log.Warn().Err(err).Msg("recording a registration failed; it will be repeated")
	}
}

func (l *Loop) try(ctx context.Context, outputs *worklists.ProducedOutputs) (*enginev1.RegisterOutputsResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, l.config.Timeout)
	defer cancel()
	creator := &common.EnrichedIdentity{}
	if err := proto.Unmarshal(outputs.CreatedBy, creator); err != nil {
		creator = nil // the version then has no author
	}
	return l.deps.Registry.RegisterOutputs(ctx, &enginev1.RegisterOutputsRequest{
		ActionId: outputs.Action.Proto(), Attempt: uint32(outputs.Attempt), OutputUri: outputs.OutputURI, CreatedBy: creator, //nolint:gosec // from 1
	})
}

func (l *Loop) count(ctx context.Context, outcome string, n int64) {
	if n > 0 {
		l.registered.Add(ctx, n, metric.WithAttributes(attribute.String("outcome", outcome)))
	}
}

// permanent reports whether a repeated call would have the same answer.
func permanent(err error) bool {
	var failure *connect.Error
	if !errors.As(err, &failure) {
		return false
	}
	switch failure.Code() {
	case connect.CodeInvalidArgument, connect.CodeNotFound, connect.CodeFailedPrecondition, connect.CodeDataLoss, connect.CodeUnimplemented:
		return true
	default:
		return false
	}
}
