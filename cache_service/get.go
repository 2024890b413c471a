package cacheservice

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	cachev1 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice"
	"github.com/flyte-binary/flyte-binary/internal/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/layout"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
)

// get answers an entry whose outputs are there. One whose outputs are gone is removed and not found; the message says
// so, since callers show it to people.
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
		return nil, rpc.NotFound("no entry")
	}
	there, err := s.outputsExist(ctx, found.URI)
	if err != nil {
		return nil, rpc.Unavailable(err, "the storage does not tell whether the outputs of the entry exist")
	}
	if !there {
		if err := s.store.Drop(ctx, key, found); err != nil {
			return nil, err
		}
		return nil, rpc.NotFound("outputs gone: %s does not exist any more, its entry is removed", layout.OutputsPath(found.URI))
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

// outputsExist asks the storage. A URI that lies outside of it has nothing that could be read.
func (s *Service) outputsExist(ctx context.Context, uri string) (bool, error) {
	_, err := s.blobs.Stat(ctx, layout.OutputsPath(uri))
	if errors.Is(err, blobstore.ErrNotExist) || errors.Is(err, blobstore.ErrForbiddenPath) {
		return false, nil
	}
	return err == nil, err
}
