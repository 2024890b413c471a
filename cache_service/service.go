// Package cacheservice stores which outputs belong to which cache key, and which owner is computing those of a key.
// It serves CacheService in both versions over one store: the second has a scope of project and domain in each
// request; the first has none and uses the global scope. It depends on Postgres and the object store and knows
// nothing about runs.
package cacheservice

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/cache_service/store"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/cacheserviceconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/v2/v2connect"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/leased"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

// Blobs checks the object store: the service never returns outputs that do not exist.
type Blobs interface {
	// Stat fails with blobstore.ErrNotExist when there is no object, and with blobstore.ErrForbiddenPath when the URI
	// is outside of the storage.
	Stat(ctx context.Context, uri string) (blobstore.Info, error)
}

// Deps are the dependencies of the service. It does not close the pool and the blobs.
type Deps struct {
	Pool   *pgxpool.Pool
	Blobs  Blobs
	Clock  clock.Clock
	Logger zerolog.Logger
}

// Service is the cache.
type Service struct {
	config  Config
	store   *store.Store
	blobs   Blobs
	collect *leased.Loop
}

var _ lifecycle.Part = (*Service)(nil)

// New puts the service together; nothing runs until Start.
func New(config Config, deps Deps) (*Service, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("cache: %w", err)
	}
	if deps.Pool == nil || deps.Blobs == nil {
		return nil, errors.New("cache: the pool and the object store are required")
	}
	if deps.Clock == nil {
		deps.Clock = clock.System{}
	}
	s := &Service{config: config, store: store.New(deps.Pool, deps.Clock), blobs: deps.Blobs}
	s.collect = &leased.Loop{
		Leases: pgdb.NewLeases(deps.Pool, deps.Clock, rand.Text()).In(store.LeaseTable), Name: leaseName, Length: config.Lease,
		Work:   leased.Every(deps.Clock, config.CollectEvery, collect(config, s.store)),
		Logger: deps.Logger.With().Str("service", "cache").Logger(),
	}
	return s, nil
}

// Mount registers the handlers.
func (s *Service) Mount(r rpc.Registrar) {
	options := r.Options()
	r.Handle(cacheserviceconnect.NewCacheServiceHandler(&handlerV1{svc: s}, options...))
	r.Handle(v2connect.NewCacheServiceHandler(&handlerV2{svc: s}, options...))
}

// Start starts the loop that deletes expired reservations and entries.
func (s *Service) Start(ctx context.Context) error { return s.collect.Start(ctx) }

// Stop ends it.
func (s *Service) Stop(ctx context.Context) error { return s.collect.Stop(ctx) }
