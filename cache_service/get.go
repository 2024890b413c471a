package cacheservice

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	cachev1 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// get returns an entry whose outputs exist. An entry whose outputs are gone is deleted and returns NotFound; the
// message says so, since callers show it to people.
func (s *Service) get(ctx context.Context, in scope, r *cachev1.GetCacheRequest) (*cachev1.GetCacheResponse, error) {
	key, err := in.key(r.GetKey())
	if err != nil {
		return nil, err
	}
	found, err := s.store.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, rpc.NotFound("the cache has no entry for this key")
	}
	there, err := s.outputsExist(ctx, found.URI)
	if err != nil {
		return nil, rpc.Unavailable(err, "cannot check whether the outputs of the entry exist")
	}
	if !there {
		if err := s.store.Drop(ctx, key, found); err != nil {
			return nil, err
		}
		return nil, rpc.NotFound("the outputs at %s no longer exist; the cache entry was removed", blobpath.OutputsPath(found.URI))
	}
	metadata := &cachev1.Metadata{}
	if err := proto.Unmarshal(found.Metadata, metadata); err != nil {
		return nil, rpc.DataLoss(err, "the stored metadata of the entry cannot be read")
	}
	metadata.CreatedAt, metadata.LastUpdatedAt = timestamppb.New(found.CreatedAt), timestamppb.New(found.UpdatedAt)
	return &cachev1.GetCacheResponse{Output: &cachev1.CachedOutput{
		Output: &cachev1.CachedOutput_OutputUri{OutputUri: found.URI}, Metadata: metadata,
	}}, nil
}

// outputsExist checks the storage. A URI outside of it cannot be read and counts as missing.
func (s *Service) outputsExist(ctx context.Context, uri string) (bool, error) {
	_, err := s.blobs.Stat(ctx, blobpath.OutputsPath(uri))
	if errors.Is(err, blobstore.ErrNotExist) || errors.Is(err, blobstore.ErrForbiddenPath) {
		return false, nil
	}
	return err == nil, err
}
