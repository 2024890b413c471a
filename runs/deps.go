package runs

import (
	"context"
	"io"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/cacheserviceconnect"
	cachev2connect "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/v2/v2connect"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/names/tasktype"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/admission"
	"github.com/flyte-binary/flyte-binary/runs/artifactlink"
	"github.com/flyte-binary/flyte-binary/runs/asks"
	"github.com/flyte-binary/flyte-binary/runs/conditions"
	"github.com/flyte-binary/flyte-binary/runs/declared"
	"github.com/flyte-binary/flyte-binary/runs/images"
	"github.com/flyte-binary/flyte-binary/runs/insight"
	"github.com/flyte-binary/flyte-binary/runs/launch"
	"github.com/flyte-binary/flyte-binary/runs/problems"
	"github.com/flyte-binary/flyte-binary/runs/reclaim"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/tasks"
)

// Blobs is the object store, as the service uses it.
type Blobs interface {
	// Root is the URI prefix of all objects, without a trailing slash.
	Root() string
	// ReadAll reads a whole object of at most limit bytes.
	ReadAll(ctx context.Context, uri string, limit int64) ([]byte, error)
	// NewReader opens an object. The caller closes it.
	NewReader(ctx context.Context, uri string) (io.ReadCloser, error)
	// Canonical is the one form of a URI; it returns blobstore.ErrForbiddenPath for a URI outside of the store.
	Canonical(uri string) (string, error)
	// Stat describes an object without reading it.
	Stat(ctx context.Context, uri string) (blobstore.Info, error)
	// WriteAll writes a whole object; it appears completely or not at all.
	WriteAll(ctx context.Context, uri string, body []byte) error
	// Measure visits the pages, of at most size objects, of a listing of every object below a directory.
	Measure(ctx context.Context, uri, after string, size int, visit func(blobstore.Page) error) error
	// DeletePrefix deletes every object below a directory, which ends with a slash.
	DeletePrefix(ctx context.Context, uri string) error
}

// Deps are the dependencies of the service. Pool and Blobs are required; the service closes neither.
type Deps struct {
	Pool *pgxpool.Pool
	// Tenants says that people sign in, so that what one project knows is not for another by default.
	Tenants bool
	// Tracked sees the tables of store.TrackedSchema; without it, there is no TrackedRunService.
	Tracked *pgxpool.Pool
	// Replicas serve lists and figures; nil means that the primary does.
	Replicas lists.Replicas
	// Several says that other processes may serve the same database.
	Several bool
	// Listener receives notifications of Postgres for the whole process; nil means one of the service's own.
	Listener *pgdb.Listener
	Blobs    Blobs
	Clock    clock.Clock
	Logger   zerolog.Logger
	// Meter gets the metrics; nil means none.
	Meter metric.MeterProvider
	// Tracer records spans of actions; nil means none.
	Tracer trace.TracerProvider
	// Pace lowers the limit of live actions while the cluster is slow; nil means that it always keeps up, or that this process
	// does not know.
	Pace admission.Pace
	// Clusters says which clusters there are; nil means that only queues name them.
	Clusters admission.Clusters
	// ClustersChanged receives when Clusters are to be read at once; nil means that they are read once a second.
	ClustersChanged <-chan struct{}
	// Images knows the images that exist; nil means those that runs of the configured builder have built.
	Images    images.Catalog
	Peers     Peers
	Launch    Launch
	Lost      Lost
	Outbox    Outbox
	Retention Retention
	// Records are the audit records of calls; nil means that none is committed with what it is of.
	Records store.Records
}

// Peers are the clients of other services. Each may be missing.
type Peers struct {
	// Cache and GlobalCache reach the cache of outputs, by project and domain and for all; without them it is off.
	Cache       cachev2connect.CacheServiceClient
	GlobalCache cacheserviceconnect.CacheServiceClient
	// Artifacts registers the artifacts that tasks declare; without it their outputs wait to be registered.
	Artifacts artifactlink.Registry
	// Failures finds tracebacks in logs; without it failures are grouped by their messages alone.
	Failures problems.Logs
	// Workers says why the actions of pools wait; without it their wait is not explained any further.
	Workers insight.Pools
	// Connectors says which tasks connectors run, and why those wait; without it no connector runs any.
	Connectors Connectors
	// Triggers reads triggers, and TaskTriggers deploys those of tasks; without them there are none.
	Triggers     launch.Triggers
	TaskTriggers tasks.Triggers
	// People says who may answer conditions; without it people can assign them to themselves alone.
	People conditions.People
}

// Connectors says what connectors do; enginev1connect.ConnectorRegistryServiceClient does.
type Connectors interface {
	declared.Connectors
	insight.Connectors
}

// Launch says what tasks and runs may ask for.
type Launch struct {
	// Pods judges the pods that tasks ask for, when a task is deployed or a run created; nil allows all.
	Pods launch.Pods
	// Notifications judges the notification rules of runs; nil means that runs have none.
	Notifications launch.Notifications
	// TaskTypes are those that executors and this service run. The zero value has those that need no configuration.
	TaskTypes tasktype.Set
	// Asks says what tasks ask of clusters that ask for nothing themselves.
	Asks asks.Rules
	// WorkerPools says that workers run the tasks of reusable environments. Otherwise executors do, each attempt in a pod of its
	// own.
	WorkerPools bool
}

// Lost says what is taken back from clusters that cannot end it.
type Lost struct {
	// Clusters says what is known about each cluster; nil means that nothing is taken back from any.
	Clusters reclaim.Clusters
	// MaxSystemFailures is how many attempts the system may lose of one action, in addition to the task's own retries.
	MaxSystemFailures int32
}

// Outbox says what the writer records for those who are notified of changes.
type Outbox struct {
	// NotifyPhases has a bit for each phase that the installation's own notification rules name: 1<<phase.
	NotifyPhases int32
	// EventSinks are the names of the sinks to which events are published.
	EventSinks []string
}

// Retention says what the deletion of old runs has to do with other services.
type Retention struct {
	// Namespace is the Postgres schema of the pool's tables, as pgdb.Namespace returns it; empty means public.
	Namespace string
	// InUse are conditions of other services over the root a of a run, in SQL. Retention keeps a run for which one holds.
	// They name the Postgres schemas of their tables, since runs of both kinds are judged by them.
	InUse []string
	// RunDeleted, if set, is called for each run that retention deletes, to clean up elsewhere. It may be called
	// twice for a run; after an error it is called again.
	RunDeleted func(ctx context.Context, run ident.Run) error
}

// replicas is where lists are read.
func (d Deps) replicas() lists.Replicas {
	if d.Replicas == nil {
		return onPrimary{d.Pool}
	}
	return d.Replicas
}

// onPrimary reads everything from the primary.
type onPrimary struct{ pool *pgxpool.Pool }

// Read implements store.Replicas.
func (p onPrimary) Read(ctx context.Context, read func(context.Context, *pgxpool.Pool) error) error {
	return read(ctx, p.pool)
}
