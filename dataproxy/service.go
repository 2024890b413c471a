package dataproxy

import (
	"fmt"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/cluster/clusterconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy/dataproxyconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobaccess"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Service serves DataProxyService, RunLogsService, ClusterService, TranslatorService, CodeService, FileService and FailureService. The methods are in
// files of their own, one use case each.
type Service struct {
	config     Config
	deps       Deps
	access     *blobaccess.Rules
	clock      clock.Clock
	logger     zerolog.Logger
	uploads    *uploadQuota
	stored     *storedQuota
	bundles    chan struct{} // has a place for each code bundle that may be read at the same time
	explaining chan struct{} // has a place for each log that is searched at the same time
}

var _ dataproxyconnect.DataProxyServiceHandler = (*Service)(nil)

// New puts the service together. It has no loops.
func New(config Config, deps Deps) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("dataproxy: %w", err)
	}
	if name := deps.missing(); name != "" {
		return nil, fmt.Errorf("dataproxy: Deps.%s is required", name)
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	if deps.Meter == nil {
		deps.Meter = noop.NewMeterProvider()
	}
	uploads, err := newUploadQuota(config, deps.Store, deps.Clock, deps.Meter)
	if err != nil {
		return nil, fmt.Errorf("dataproxy: %w", err)
	}
	return &Service{
		config: config, deps: deps, access: blobaccess.New(deps.Store), clock: deps.Clock, uploads: uploads, stored: newStoredQuota(deps.Store, deps.Engine, deps.Clock),
		logger:  deps.Logger.With().Str("service", "dataproxy").Logger(),
		bundles: make(chan struct{}, config.Code.MaxReads), explaining: make(chan struct{}, explainedAtOnce),
	}, nil
}

// Mount registers the handlers. Signed URLs of a directory are served by the store's own handler, which manager mounts.
func (s *Service) Mount(r rpc.Registrar) {
	options := r.Options()
	r.Handle(dataproxyconnect.NewDataProxyServiceHandler(s, options...))
	r.Handle(workflowconnect.NewRunLogsServiceHandler(&runLogsHandler{s}, options...))
	r.Handle(clusterconnect.NewClusterServiceHandler(clusterHandler{clusters: s.deps.Clusters, engine: s.deps.Engine}, options...))
	r.Handle(workflowconnect.NewTranslatorServiceHandler(&translatorHandler{s}, options...))
	r.Handle(enginev1connect.NewUploadServiceHandler(uploadsHandler{s.uploads}, options...))
	r.Handle(insightv1connect.NewCodeServiceHandler(&codeHandler{s}, options...))
	r.Handle(insightv1connect.NewFileServiceHandler(&filesHandler{s}, options...))
	r.Handle(insightv1connect.NewFailureServiceHandler(&failuresHandler{s}, options...))
}
