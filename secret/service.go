package secret

import (
	"context"
	"fmt"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/secret/secretconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

// Deps are what the service needs.
type Deps struct {
	// Backends in the order in which they are asked. Without any, every call answers failed_precondition.
	Backends []Named
	// Unavailable says why there are no backends.
	Unavailable string
	// Located keeps the controllers of clusters to the secrets of what runs there; nil if no controller has a credential of its own.
	Located Located
	// Cluster is the cluster that answers name as the one that has a secret.
	Cluster string
	Logger  zerolog.Logger
	// Clock decides when what is known of image pull secrets is read again; nil means that of the system.
	Clock clock.Clock
	// Meter gets the metrics; nil means none.
	Meter metric.MeterProvider
}

// Located says whether the caller may act for a holder of secrets; located.Work does.
type Located interface {
	Check(ctx context.Context, holder *enginev1.SecretHolder, project, domain string) error
}

// Service is SecretService and SecretValueService. Each call has its own file.
type Service struct {
	lifecycle.Background
	deps  Deps
	pulls pullIndex
}

var (
	_ lifecycle.Part                            = (*Service)(nil)
	_ secretconnect.SecretServiceHandler        = (*Service)(nil)
	_ enginev1connect.SecretValueServiceHandler = (*Service)(nil)
)

// New puts the service together.
func New(deps Deps) (*Service, error) {
	deps.Logger = deps.Logger.With().Str("service", "secret").Logger()
	calls, err := newCalls(deps.Meter)
	if err != nil {
		return nil, fmt.Errorf("secrets: %w", err)
	}
	named := make([]Named, len(deps.Backends))
	for i, one := range deps.Backends {
		named[i] = Named{Name: one.Name, Backend: measured{backend: one.Backend, name: one.Name, calls: calls}}
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	s := &Service{deps: deps}
	s.deps.Backends = named
	return s, nil
}

// Mount registers the handlers.
func (s *Service) Mount(r rpc.Registrar) {
	r.Handle(secretconnect.NewSecretServiceHandler(s, r.Options()...))
	r.Handle(enginev1connect.NewSecretValueServiceHandler(s, r.Options()...))
}

// Start runs the loops of the backends.
func (s *Service) Start(ctx context.Context) error {
	var loops []func(context.Context)
	for _, one := range s.deps.Backends {
		if runner, ok := one.Backend.(measured).backend.(Runner); ok {
			loops = append(loops, runner.Run)
		}
	}
	return s.Run(s.deps.Logger.WithContext(ctx), loops...)
}

// ready reports why there is nothing that stores secrets.
func (s *Service) ready() error {
	if len(s.deps.Backends) > 0 {
		return nil
	}
	return rpc.FailedPrecondition("secrets are not available: %s", s.deps.Unavailable)
}
