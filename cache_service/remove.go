package cacheservice

import (
	"context"

	cachev1 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// remove deletes an entry; the outputs themselves belong to their run and stay.
func (s *Service) remove(ctx context.Context, in scope, r *cachev1.DeleteCacheRequest) (*cachev1.DeleteCacheResponse, error) {
	key, err := in.key(r.GetKey())
	if err != nil {
		return nil, err
	}
	existed, err := s.store.Delete(ctx, key)
	if err != nil {
		return nil, err
	}
	if !existed {
		return nil, rpc.NotFound("the cache has no entry for this key")
	}
	return &cachev1.DeleteCacheResponse{}, nil
}
