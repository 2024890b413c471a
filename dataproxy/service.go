package dataproxy

import (
	"fmt"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/cluster/clusterconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy/dataproxyconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
)

// Service serves DataProxyService, RunLogsService, ClusterService and TranslatorService. The methods are in files of
// their own, one use case each.
type Service struct {
	config Config
	deps   Deps
	clock  clock.Clock
	logger zerolog.Logger
}

var _ dataproxyconnect.DataProxyServiceHandler = (*Service)(nil)

// New puts the service together. It has no loops.
func New(config Config, deps Deps) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("dataproxy: %w", err)
	}
	if name := deps.missing(); name != "" {
		return nil, fmt.Errorf("dataproxy: Deps.%s is needed", name)
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	return &Service{
		config: config, deps: deps, clock: deps.Clock, logger: deps.Logger.With().Str("service", "dataproxy").Logger(),
	}, nil
}

// Mount registers the handlers. Signed URLs of a directory are served by the store's own handler, which manager mounts.
func (s *Service) Mount(r rpc.Registrar) {
	options := r.Options()
	r.Handle(dataproxyconnect.NewDataProxyServiceHandler(s, options...))
	r.Handle(workflowconnect.NewRunLogsServiceHandler(&runLogsHandler{s}, options...))
	r.Handle(clusterconnect.NewClusterServiceHandler(clusterHandler{}, options...))
	r.Handle(workflowconnect.NewTranslatorServiceHandler(&translatorHandler{s}, options...))
}
