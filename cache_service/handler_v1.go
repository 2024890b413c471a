package cacheservice

import (
	"context"

	"github.com/flyte-binary/flyte-binary/cache_service/store"
	cachev1 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice"
)

// handlerV1 serves keys without a scope: those of the whole installation.
type handlerV1 struct{ svc *Service }

var global = scope{}

// Get implements cacheserviceconnect.CacheServiceHandler.
func (h *handlerV1) Get(ctx context.Context, r *cachev1.GetCacheRequest) (*cachev1.GetCacheResponse, error) {
	return h.svc.get(ctx, global, r)
}

// Put implements cacheserviceconnect.CacheServiceHandler.
func (h *handlerV1) Put(ctx context.Context, r *cachev1.PutCacheRequest) (*cachev1.PutCacheResponse, error) {
	return h.svc.put(ctx, global, r)
}

// Delete implements cacheserviceconnect.CacheServiceHandler.
func (h *handlerV1) Delete(ctx context.Context, r *cachev1.DeleteCacheRequest) (*cachev1.DeleteCacheResponse, error) {
	return h.svc.remove(ctx, global, r)
}

// GetOrExtendReservation implements cacheserviceconnect.CacheServiceHandler.
func (h *handlerV1) GetOrExtendReservation(
	ctx context.Context, r *cachev1.GetOrExtendReservationRequest,
) (*cachev1.GetOrExtendReservationResponse, error) {
	return h.svc.reserve(ctx, global, r)
}

// ReleaseReservation implements cacheserviceconnect.CacheServiceHandler.
func (h *handlerV1) ReleaseReservation(
	ctx context.Context, r *cachev1.ReleaseReservationRequest,
) (*cachev1.ReleaseReservationResponse, error) {
	return h.svc.release(ctx, global, r)
}

// scope is the scope in which a key is unique. prefix is the path of its fields in requests, for errors.
type scope struct{ project, domain, prefix string }

// key rejects keys that are too long for an index.
func (s scope) key(text string) (store.Key, error) {
	return store.Key{Project: s.project, Domain: s.domain, Key: text}, checkLength(s.prefix+"key", text)
}
