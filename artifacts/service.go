// Package artifacts keeps named, versioned values that runs produce and consume: their partitions, their metadata, and
// where they came from. It serves ArtifactService, answers questions about lineage, and registers the outputs that tasks
// declare. It depends on Postgres and the object store, and asks the runs service where the data of an action lie and
// which runs use which versions, and the apps service which apps do.
package artifacts

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/flyte-binary/flyte-binary/artifacts/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1/enginev1connect"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact/artifactconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobaccess"
	"github.com/flyte-binary/flyte-binary/internal/names/place"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

// Blobs is the object store; blobstore.Store is one.
type Blobs interface {
	blobaccess.Store
	// ReadAll reads a whole object of at most limit bytes.
	ReadAll(ctx context.Context, uri string, limit int64) ([]byte, error)
}

// Engine says where the data of an action lie; the client of EngineService is one.
type Engine interface {
	GetActionStorage(ctx context.Context, r *enginev1.GetActionStorageRequest) (*enginev1.GetActionStorageResponse, error)
}

// Runs says where the data of a run are; the client of RunService is one.
type Runs interface {
	GetRunDetails(ctx context.Context, r *workflow.GetRunDetailsRequest) (*workflow.GetRunDetailsResponse, error)
}

// Uses says which runs use which versions; the client of ArtifactUseService is one.
type Uses interface {
	ListArtifactUses(ctx context.Context, r *enginev1.ListArtifactUsesRequest) (*enginev1.ListArtifactUsesResponse, error)
}

// AppUses says which apps use which versions and outputs of runs; the client of AppUseService is one.
type AppUses interface {
	ListAppUses(ctx context.Context, r *enginev1.ListAppUsesRequest) (*enginev1.ListAppUsesResponse, error)
}

// Deps are the dependencies of the service. It does not close the pool and the blobs.
type Deps struct {
	Pool     *pgxpool.Pool
	Blobs    Blobs
	Projects place.Projects
	Engine   Engine
	Runs     Runs
	Uses     Uses
	AppUses  AppUses
	Clock    clock.Clock
	Logger   zerolog.Logger
	// Meter creates the metrics; nil means none.
	Meter metric.MeterProvider
}

// Service is the registry of artifacts.
type Service struct {
	store   *store.Store
	writer  *writer
	lineage *lineage
	collect *leased.Loop
	outputs *registrar
	inputs  *finder
}

var _ lifecycle.Part = (*Service)(nil)

// New puts the service together; nothing runs until Start.
func New(config Config, deps Deps) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("artifacts: %w", err)
	}
	if deps.Pool == nil || deps.Blobs == nil || deps.Projects == nil || deps.Engine == nil || deps.Runs == nil || deps.Uses == nil || deps.AppUses == nil {
		return nil, errors.New("artifacts: the pool, the object store and the clients of the runs service and the apps service are required")
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	if deps.Meter == nil {
		deps.Meter = noop.NewMeterProvider()
	}
	const name = "flyte.artifacts.versions"
	created, err := deps.Meter.Meter("github.com/flyte-binary/flyte-binary/artifacts").Int64Counter(name,
		metric.WithDescription("versions of artifacts that were created"))
	if err != nil {
		return nil, fmt.Errorf("artifacts: make metric %s: %w", name, err)
	}
	logger := deps.Logger.With().Str("service", "artifacts").Logger()
	versions := store.New(deps.Pool, deps.Clock)
	s := &Service{store: versions, lineage: &lineage{store: versions, uses: deps.Uses, apps: deps.AppUses}}
	s.writer = &writer{
		store: versions, projects: deps.Projects, maxSpec: config.MaxSpecBytes, created: created,
		data: &data{access: blobaccess.New(deps.Blobs), blobs: deps.Blobs, engine: deps.Engine, runs: deps.Runs},
	}
	s.inputs = &finder{store: versions, blobs: deps.Blobs}
	s.outputs = &registrar{writer: s.writer, blobs: deps.Blobs, maxOutputs: config.MaxOutputsBytes}
	s.collect = &leased.Loop{
		Leases: pgdb.NewLeases(deps.Pool, deps.Clock, rand.Text()).In(store.LeaseTable), Name: leaseName, Length: config.Lease,
		Work: leased.Every(deps.Clock, config.CollectEvery, collect(versions, config.KeepEvents)), Logger: logger,
	}
	return s, nil
}

// Mount registers the handlers.
func (s *Service) Mount(r rpc.Registrar) {
	options := connect.WithHandlerOptions(r.Options()...)
	r.Handle(artifactconnect.NewArtifactServiceHandler(&handler{s.store, s.writer}, options))
	r.Handle(insightv1connect.NewArtifactInsightServiceHandler(s.lineage, options))
	r.Handle(enginev1connect.NewArtifactRegistryServiceHandler(registry{s.outputs, s.inputs}, options))
	r.Handle(enginev1connect.NewArtifactEventServiceHandler(&events{s.store}, options))
}

// registry is what the runs service calls.
type registry struct {
	*registrar
	*finder
}

// Start starts the loop that deletes old events.
func (s *Service) Start(ctx context.Context) error { return s.collect.Start(ctx) }

// Stop ends it.
func (s *Service) Stop(ctx context.Context) error { return s.collect.Stop(ctx) }
