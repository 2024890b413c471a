package events

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

// Engine is the part of EngineService that takes transitions.
type Engine interface {
	RecordTransitions(ctx context.Context, r *enginev1.RecordTransitionsRequest) (*enginev1.RecordTransitionsResponse, error)
}

// Deps are the dependencies of the service.
type Deps struct {
	Engine Engine
	// Clock times the pauses between attempts; nil means the system's.
	Clock  clock.Clock
	Logger zerolog.Logger
}

// Service serves EventsProxyService and has the sink for an executor in the same process.
type Service struct{ sink *Sink }

var _ lifecycle.Part = (*Service)(nil)

// New puts the service together.
func New(config Config, deps Deps) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	if deps.Engine == nil {
		return nil, errors.New("events: Engine is required")
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	return &Service{sink: newSink(config, deps)}, nil
}

// Start implements lifecycle.Part. Reports wait until then.
func (s *Service) Start(ctx context.Context) error { return s.sink.batches.Start(ctx) }

// Stop implements lifecycle.Part. Reports that wait are recorded first.
func (s *Service) Stop(ctx context.Context) error { return s.sink.batches.Stop(ctx) }

// Mount registers EventsProxyService.
func (s *Service) Mount(r rpc.Registrar) {
	r.Handle(workflowconnect.NewEventsProxyServiceHandler(&handler{sink: s.sink}, r.Options()...))
}

// Sink is the entry for an executor in the same process.
func (s *Service) Sink() *Sink { return s.sink }
