package cachelink

import (
	"context"
	"errors"
	"sync"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/cacheserviceconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/v2/v2connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// LeaseName is the lease of the loop that keeps reservations.
const LeaseName = "cache reservations"

// Reader finds held and finished actions; worklists.CacheReader is one.
type Reader interface {
	Held(ctx context.Context, hold schema.Hold, after int64, limit int) ([]worklists.Cacheable, error)
	Publishable(ctx context.Context, actions []ident.Action) ([]worklists.Cacheable, error)
}

// Settler settles holds; store.Writer is one.
type Settler interface {
	Settle(ctx context.Context, settlements []store.Settlement) (int, error)
}

// Reservations stores which actions hold keys; worklists.ReservedKeys is one.
type Reservations interface {
	Remember(ctx context.Context, key worklists.ReservedKey) error
	Forget(ctx context.Context, actionID int64) error
	List(ctx context.Context, after int64, limit int) ([]worklists.ReservedKey, error)
}

// Signals report changes of actions.
type Signals interface {
	// Ready has a token when Take has something to return; a loop is its only reader.
	Ready() <-chan struct{}
	// Take returns what happened since the last call.
	Take() Happened
}

// Happened is what a loop must know about commits.
type Happened struct {
	// Held says that this process has put holds on actions.
	Held bool
	// Elsewhere says that another replica changed actions, or that the changes are unknown.
	Elsewhere bool
	// Ended are the ids of actions that ended in commits of this process.
	Ended []int64
}

// Blobs is the object store, as publishing uses it.
type Blobs interface {
	WriteAll(ctx context.Context, uri string, body []byte) error
}

// Deps are the dependencies of the package. Without clients the cache is off.
type Deps struct {
	Scoped  v2connect.CacheServiceClient
	Global  cacheserviceconnect.CacheServiceClient
	Reader  Reader
	Settler Settler
	Keys    Reservations
	Specs   Specs
	Blobs   Blobs
	// Far says why the caller of an action cannot read an object; empty if it can. nil means that all callers can read everything.
	Far    func(ctx context.Context, actionID int64, uri string) (words string, err error)
	Leases leased.Leases
	// Lookups and Waits wake the two loops. Each loop has its own, because Take consumes the signals.
	Lookups Signals
	Waits   Signals
	Clock   clock.Clock
	Logger  zerolog.Logger
}

// Cache is the runs service's side of the cache.
type Cache struct {
	lifecycle.Background
	config  Config
	deps    Deps
	catalog *catalog
	wishes  *wishes
}

var _ lifecycle.Part = (*Cache)(nil)

// New returns the cache; it does nothing before Start, except publishing.
func New(config Config, deps Deps) *Cache {
	return &Cache{
		config: config, deps: deps, wishes: newWishes(config, deps.Specs),
		catalog: &catalog{config: config, clock: deps.Clock, scoped: deps.Scoped, global: deps.Global},
	}
}

// On reports whether tasks use the cache.
func (c *Cache) On() bool { return c.config.Enabled && c.deps.Scoped != nil && c.deps.Global != nil }

// WishOf is Config.WishOf with this cache's configuration.
func (c *Cache) WishOf(spec *task.TaskSpec, run *task.RunSpec) Wish {
	return c.config.WishOf(spec, run)
}

// Start implements lifecycle.Part. It also runs with the cache off, to settle earlier holds.
func (c *Cache) Start(ctx context.Context) error {
	keep := func(ctx context.Context) error {
		newKeeper(c).run(ctx)
		return nil
	}
	return c.Run(c.deps.Logger.WithContext(ctx), c.lookUp, leased.While(c.deps.Leases, LeaseName, c.config.Lease, keep))
}

// each processes items with bounded concurrency and joins the errors.
func each[T any](items []T, concurrency int, work func(T) error) error {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failures []error
	slots := make(chan struct{}, concurrency)
	for _, item := range items {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := work(item); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failures = append(failures, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(failures...)
}
