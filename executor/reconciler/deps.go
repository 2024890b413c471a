package reconciler

import (
	"context"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flyte-binary/flyte-binary/executor/plugin"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/clock"
)

// Sink records transitions and tells what became of each, after the commit. It rides out outages.
type Sink interface {
	Record(ctx context.Context, transitions []*enginev1.Transition) ([]enginev1.TransitionOutcome, error)
}

// Store reads what tasks wrote, with the errors of blobstore.
type Store interface {
	ReadAll(ctx context.Context, uri string, limit int64) ([]byte, error)
	Stat(ctx context.Context, uri string) (blobstore.Info, error)
}

// Sealer keeps the log of a container. The log of a pod that is gone is no error.
type Sealer interface {
	Seal(ctx context.Context, log plugin.Log, uri string) error
}

// Deps are what the reconciler needs.
type Deps struct {
	// Cache reads TaskActions and pods from informers.
	Cache client.Reader
	// Live reads from the API server.
	Live client.Reader
	// Writer writes TaskActions.
	Writer client.Client
	// Plugins run attempts.
	Plugins *plugin.Registry
	Sink    Sink
	Store   Store
	// Sealer keeps logs; nil keeps none.
	Sealer Sealer
	Clock  clock.Clock
	Logger zerolog.Logger
	// Meter gets the metrics; nil means none.
	Meter metric.MeterProvider
}
