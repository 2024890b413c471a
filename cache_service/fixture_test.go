package cacheservice_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	cacheservice "github.com/flyte-binary/flyte-binary/cache_service"
	"github.com/flyte-binary/flyte-binary/cache_service/store"
	cachev1 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/cacheserviceconnect"
	cachev2 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/v2"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice/v2/v2connect"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// shelf is an object store that knows only names.
type shelf struct {
	mu      sync.Mutex
	objects map[string]bool
	failure error
}

func (s *shelf) Stat(_ context.Context, uri string) (blobstore.Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.failure != nil:
		return blobstore.Info{}, s.failure
	case !s.objects[uri]:
		return blobstore.Info{}, blobstore.ErrNotExist
	}
	return blobstore.Info{}, nil
}

func (s *shelf) set(uri string, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects == nil {
		s.objects = map[string]bool{}
	}
	s.objects[uri+"/outputs.pb"] = there
}

func (s *shelf) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = err
}

// caching is the service as clients see it, on a clock of the test.
type caching struct {
	t       testing.TB
	pool    *pgxpool.Pool
	clock   *clock.Fake
	blobs   *shelf
	service *cacheservice.Service
	v1      cacheserviceconnect.CacheServiceClient
	v2      v2connect.CacheServiceClient
}

func newCaching(t testing.TB, change func(*cacheservice.Config)) *caching {
	t.Helper()
	config := cacheservice.DefaultConfig()
	if change != nil {
		change(&config)
	}
	c := &caching{t: t, pool: pgtest.Schemas(t, store.Schema()), clock: clock.NewFake(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)), blobs: &shelf{}}
	var err error
	c.service, err = cacheservice.New(config, cacheservice.Deps{Pool: c.pool, Blobs: c.blobs, Clock: c.clock, Logger: zerolog.Nop()})
	require.NoError(t, err)
	mux := rpc.NewMux(rpc.Interceptors(rpc.Chain{}))
	c.service.Mount(mux)
	c.v1 = cacheserviceconnect.NewCacheServiceClient(rpc.InProcess(mux), rpc.InProcessURL)
	c.v2 = v2connect.NewCacheServiceClient(rpc.InProcess(mux), rpc.InProcessURL)
	return c
}

func in(project, domain string) *cachev2.Identifier {
	return &cachev2.Identifier{Org: "o", Project: project, Domain: domain}
}

var here = in("p", "d")

func (c *caching) put(scope *cachev2.Identifier, key, uri string, overwrite *cachev1.OverwriteOutput) error {
	c.t.Helper()
	request := &cachev1.PutCacheRequest{
		Key: key, Overwrite: overwrite, Output: &cachev1.CachedOutput{Output: &cachev1.CachedOutput_OutputUri{OutputUri: uri}},
	}
	var err error
	if scope == nil {
		_, err = c.v1.Put(c.t.Context(), request)
	} else {
		_, err = c.v2.Put(c.t.Context(), &cachev2.PutCacheRequest{Identifier: scope, BaseRequest: request})
	}
	return err
}

func (c *caching) get(scope *cachev2.Identifier, key string) (*cachev1.CachedOutput, error) {
	c.t.Helper()
	request := &cachev1.GetCacheRequest{Key: key}
	var response *cachev1.GetCacheResponse
	var err error
	if scope == nil {
		response, err = c.v1.Get(c.t.Context(), request)
	} else {
		response, err = c.v2.Get(c.t.Context(), &cachev2.GetCacheRequest{Identifier: scope, BaseRequest: request})
	}
	return response.GetOutput(), err
}

// has asserts the outputs of a key.
func (c *caching) has(scope *cachev2.Identifier, key, uri string) {
	c.t.Helper()
	output, err := c.get(scope, key)
	require.NoError(c.t, err)
	require.Equal(c.t, uri, output.GetOutputUri())
}

func (c *caching) reserve(key, owner string) *cachev1.Reservation {
	c.t.Helper()
	response, err := c.v2.GetOrExtendReservation(c.t.Context(), &cachev2.GetOrExtendReservationRequest{
		Identifier: here, BaseRequest: &cachev1.GetOrExtendReservationRequest{Key: key, OwnerId: owner},
	})
	require.NoError(c.t, err)
	return response.GetReservation()
}

func (c *caching) release(key, owner string) {
	c.t.Helper()
	_, err := c.v2.ReleaseReservation(c.t.Context(), &cachev2.ReleaseReservationRequest{
		Identifier: here, BaseRequest: &cachev1.ReleaseReservationRequest{Key: key, OwnerId: owner},
	})
	require.NoError(c.t, err)
}

func (c *caching) remove(key string) error {
	c.t.Helper()
	_, err := c.v2.Delete(c.t.Context(), &cachev2.DeleteCacheRequest{Identifier: here, BaseRequest: &cachev1.DeleteCacheRequest{Key: key}})
	return err
}

func refused(t testing.TB, err error, code connect.Code, text string) {
	t.Helper()
	require.Equal(t, code, connect.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, text)
}

var errBroken = errors.New("broken")
