package dataproxy

import (
	"context"
	"io"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/settings"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/names/place"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Store is the object store, as the service uses it.
type Store interface {
	// Root is the prefix of all URIs, without a trailing slash.
	Root() string
	// Canonical is the one form of a URI; it returns blobstore.ErrForbiddenPath for a URI outside of the store.
	Canonical(uri string) (string, error)
	ReadAll(ctx context.Context, uri string, limit int64) ([]byte, error)
	ReadRange(ctx context.Context, uri string, offset, length int64) ([]byte, blobstore.Info, error)
	NewReader(ctx context.Context, uri string) (io.ReadCloser, error)
	WriteAll(ctx context.Context, uri string, body []byte) error
	Stat(ctx context.Context, uri string) (blobstore.Info, error)
	List(ctx context.Context, uri string, visit func(blobstore.Object) error) error
	SignPut(ctx context.Context, uri string, o blobstore.PutOptions) (blobstore.Signed, error)
	SignGet(ctx context.Context, uri string, o blobstore.GetOptions) (blobstore.Signed, error)
}

// Runs is the part of RunService that locates data.
type Runs interface {
	GetActionDataURIs(ctx context.Context, r *workflow.GetActionDataURIsRequest) (*workflow.GetActionDataURIsResponse, error)
	GetActionDetails(ctx context.Context, r *workflow.GetActionDetailsRequest) (*workflow.GetActionDetailsResponse, error)
	GetActionLogContext(ctx context.Context, r *workflow.GetActionLogContextRequest) (*workflow.GetActionLogContextResponse, error)
	GetRunDetails(ctx context.Context, r *workflow.GetRunDetailsRequest) (*workflow.GetRunDetailsResponse, error)
}

// Tasks is the part of TaskService that reads tasks.
type Tasks interface {
	GetTaskDetails(ctx context.Context, r *task.GetTaskDetailsRequest) (*task.GetTaskDetailsResponse, error)
}

// Triggers is the part of TriggerService that reads triggers.
type Triggers interface {
	GetTriggerDetails(ctx context.Context, r *trigger.GetTriggerDetailsRequest) (*trigger.GetTriggerDetailsResponse, error)
}

// Settings is the part of SettingsService that returns the resolved settings of a project.
type Settings interface {
	GetSettings(ctx context.Context, r *settings.GetSettingsRequest) (*settings.GetSettingsResponse, error)
}

// Engine is the part of EngineService that knows the storage layout of runs, and the limits of projects.
type Engine interface {
	// AdmitUpload counts what was uploaded, and answers resource_exhausted when the project may have no more.
	AdmitUpload(ctx context.Context, r *enginev1.AdmitUploadRequest) (*enginev1.AdmitUploadResponse, error)
	GetActionStorage(ctx context.Context, r *enginev1.GetActionStorageRequest) (*enginev1.GetActionStorageResponse, error)
}

// PodLogs is PodLogService, next to the cluster.
type PodLogs interface {
	TailContainer(ctx context.Context, r *enginev1.TailContainerRequest) (*connect.ServerStreamForClient[enginev1.TailContainerResponse], error)
}

// Jobs is the part of ConnectorRegistryService that reads logs.
type Jobs interface {
	TailJob(ctx context.Context, r *enginev1.TailJobRequest) (*connect.ServerStreamForClient[enginev1.TailJobResponse], error)
}

// Deps are the dependencies of the service.
type Deps struct {
	Store    Store
	Runs     Runs
	Tasks    Tasks
	Projects place.Projects
	Engine   Engine
	// PodLogs returns the PodLogService of a cluster.
	PodLogs func(cluster string) PodLogs
	// Jobs has the logs of jobs of connectors; nil means that only stored ones are read.
	Jobs Jobs
	// Clusters says which clusters there are; nil means that none is known by name.
	Clusters Clusters
	// Settings may be nil: then inputs go where the client or the store says.
	Settings Settings
	// Triggers may be nil: calls that need a trigger then return Unimplemented, and clients work without it.
	Triggers Triggers
	// Clock times heartbeats and pauses; nil means the system's.
	Clock  clock.Clock
	Logger zerolog.Logger
	// Meter gets the metrics; nil means none.
	Meter metric.MeterProvider
}

func (d Deps) missing() string {
	for name, absent := range map[string]bool{
		"Store": d.Store == nil, "Runs": d.Runs == nil, "Tasks": d.Tasks == nil, "Projects": d.Projects == nil,
		"Engine": d.Engine == nil, "PodLogs": d.PodLogs == nil,
	} {
		if absent {
			return name
		}
	}
	return ""
}
