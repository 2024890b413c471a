// Package leader divides the work on a cluster among the replicas: a fixed number of shards, each of which one replica owns
// at a time. What works on a shard starts with the term of its owner, and all of it has stopped before another replica
// becomes the owner. A Kubernetes Lease has the table of owners (docs/decisions/sharded-reconciling.md).
package leader

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

// minDuration keeps renewals from being a load of their own.
const minDuration = 3 * time.Second

// Config configures an election.
type Config struct {
	// Namespace has the Lease. It is created if it does not exist.
	Namespace string
	// Name is the name of the Lease.
	Name string
	// Duration is how long a replica owns its shards without a renewal, and so how long no one works on them after a
	// crash. Whole seconds, at least 3.
	Duration time.Duration
}

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(c.Namespace == "", "namespace: is required")
	found.If(c.Name == "", "name: is required")
	found.If(c.Duration < minDuration, "duration: must be at least %s, got %s", minDuration, c.Duration)
	return found.Err()
}

// retry is the pause between two renewals.
func (c Config) retry() time.Duration { return c.Duration / 6 }

// renewal is how old the last renewal may be before this replica stops its work; others wait for the whole Duration.
func (c Config) renewal() time.Duration { return c.Duration * 2 / 3 }

// Deps are what an election needs.
type Deps struct {
	// Kubernetes reaches the API server. Required.
	Kubernetes *rest.Config
	// Identity tells this replica from others; empty means the host's name and a random part.
	Identity string
	Logger   zerolog.Logger
	// Meter gets the metrics; nil means none.
	Meter metric.MeterProvider
}

// Election competes for shards between Start and Stop.
type Election struct {
	background lifecycle.Background
	config     Config
	identity   string
	client     kubernetes.Interface
	logger     zerolog.Logger
	seen       seen                      // only run uses it
	ended      chan struct{}             // has an element when a term has ended
	renewed    atomic.Pointer[time.Time] // when the last renewal of this replica began; only run sets it

	mu    sync.Mutex
	terms [ident.Shards]*term // GUARDED_BY(mu): nil where nothing of this replica runs
	began chan struct{}       // GUARDED_BY(mu): closed and replaced when a term begins
}

var _ lifecycle.Part = (*Election)(nil)

// New returns an election. It makes no calls before Start.
func New(config Config, deps Deps) (*Election, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("leader: %w", err)
	}
	if deps.Kubernetes == nil {
		return nil, errors.New("leader: the configuration of the cluster is required")
	}
	e := &Election{
		config: config, identity: deps.Identity, logger: deps.Logger,
		seen: seen{beats: map[string]silence{}}, ended: make(chan struct{}, 1), began: make(chan struct{}),
	}
	e.renewed.Store(&time.Time{})
	var err error
	if e.client, err = kubernetes.NewForConfig(deps.Kubernetes); err != nil {
		return nil, fmt.Errorf("leader: make Kubernetes client: %w", err)
	}
	if e.identity == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("leader: read host name: %w", err)
		}
		e.identity = host + "-" + rand.Text()
	}
	if err := e.measure(deps.Meter); err != nil {
		return nil, fmt.Errorf("leader: %w", err)
	}
	return e, nil
}

// measure exports how many shards this replica works on.
func (e *Election) measure(provider metric.MeterProvider) error {
	if provider == nil {
		provider = noop.NewMeterProvider()
	}
	const name = "flyte.controller.shards"
	_, err := provider.Meter("github.com/flyte-binary/flyte-binary/manager/leader").Int64ObservableGauge(name,
		metric.WithDescription("shards of the cluster that this replica owns and works on"),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(int64(len(e.Owned())))
			return nil
		}))
	if err != nil {
		return fmt.Errorf("make metric %s: %w", name, err)
	}
	return nil
}

// Start implements lifecycle.Part. It does not wait for a shard, nor for the API server, which may be unavailable.
func (e *Election) Start(ctx context.Context) error {
	return e.background.Run(ctx, e.run)
}

// Stop implements lifecycle.Part: it ends the terms, waits for the work of this replica, and gives its shards to others.
func (e *Election) Stop(ctx context.Context) error { return e.background.Stop(ctx) }

// Owned are the shards that this replica works on.
func (e *Election) Owned() []int { return e.activity().running }

// While calls work in each term of this replica for each shard, with a context that ends with the term, and waits for it.
// It returns when ctx ends. All work for a shard runs in the same terms.
func (e *Election) While(ctx context.Context, work func(ctx context.Context, shard int)) {
	var shards sync.WaitGroup
	for shard := range ident.Shards {
		shards.Go(func() { e.while(ctx, shard, func(ctx context.Context) { work(ctx, shard) }) })
	}
	shards.Wait()
}

// Undivided is for work that one replica does as a whole: its terms are those of the first shard.
type Undivided struct{ Election *Election }

// While calls work in each term of this replica, and returns when ctx ends.
func (u Undivided) While(ctx context.Context, work func(ctx context.Context)) {
	u.Election.while(ctx, 0, work)
}
