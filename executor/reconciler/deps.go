package reconciler

import (
	"context"
	"io"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/attempts"
	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// Store reads what tasks wrote, with the errors of blobstore.
type Store interface {
	ReadAll(ctx context.Context, uri string, limit int64) ([]byte, error)
	NewReader(ctx context.Context, uri string) (io.ReadCloser, error)
	Stat(ctx context.Context, uri string) (blobstore.Info, error)
}

// Sealer copies the log of a container to the object store. The log of a pod that does not exist is not an error.
type Sealer interface {
	Seal(ctx context.Context, log plugin.Log, uri string) error
}

// Deps are what the reconciler needs.
type Deps struct {
	// Cache reads TaskActions and pods from informers.
	Cache client.Reader
	// Live reads from the API server.
	Live client.Reader
	// Writer writes the status of TaskActions, and deletes orphaned pods.
	Writer client.Client
	// Plugins run attempts.
	Plugins *plugin.Registry
	Sink    attempts.Sink
	// Assignments is read when the loss of an attempt had been recorded before it was reported.
	Assignments verdict.Assignments
	Store       Store
	// Sealer seals logs; nil seals none.
	Sealer Sealer
	// Cluster is the id of the cluster, for reports.
	Cluster string
	// Finished is called when a TaskAction is no longer needed, to have it deleted. It does not block. It may be called
	// again for the same TaskAction. Nil means that no one deletes.
	Finished func(*v1.TaskAction)
	Clock    clock.Clock
	Logger   zerolog.Logger
	// Slots bound the reconciles that work at the same time, together with those of the other reconcilers that have the same ones.
	// Nil means Config.Workers of its own.
	Slots Slots
	// OneShard says that this reconciler has one shard of many in the process: it needs room for a part of the waits alone.
	OneShard bool
	// Meter gets the metrics; nil means none.
	Meter metric.MeterProvider
	// Tracer records a span of each attempt whose run has a trace; nil records none.
	Tracer trace.Tracer
}
