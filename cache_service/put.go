package cacheservice

import (
	"context"
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/cache_service/store"
	cachev1 "github.com/flyte-binary/flyte-binary/gen/flyteidl2/cacheservice"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// put stores outputs that exist under a key. Other outputs that the key already has are kept unless the request says
// that they may be replaced.
func (s *Service) put(ctx context.Context, in scope, r *cachev1.PutCacheRequest) (*cachev1.PutCacheResponse, error) {
	key, err := in.key(r.GetKey())
	if err != nil {
		return nil, err
	}
	replace, err := replacement(in, r.GetOverwrite())
	if err != nil {
		return nil, err
	}
	uri := r.GetOutput().GetOutputUri()
	if uri == "" {
		return nil, rpc.InvalidArgument(in.prefix+"output.output_uri", "is required; the cache does not store literals")
	}
	_, err = s.blobs.Stat(ctx, blobpath.OutputsPath(uri))
	switch {
	case errors.Is(err, blobstore.ErrForbiddenPath):
		return nil, rpc.InvalidArgument(in.prefix+"output.output_uri", "is outside the storage of this installation")
	case errors.Is(err, blobstore.ErrNotExist):
		return nil, rpc.FailedPrecondition("no outputs exist at %s", blobpath.OutputsPath(uri))
	case err != nil:
		return nil, rpc.Unavailable(err, "cannot check whether the outputs exist")
	}
	metadata, err := encodeMetadata(in, r.GetOutput().GetMetadata())
	if err != nil {
		return nil, err
	}
	stored, err := s.store.Put(ctx, key, uri, metadata, replace)
	if err != nil {
		return nil, err
	}
	if !stored {
		return nil, rpc.AlreadyExists("the key already has an entry with other outputs")
	}
	return &cachev1.PutCacheResponse{}, nil
}

func replacement(in scope, overwrite *cachev1.OverwriteOutput) (store.Replace, error) {
	field := in.prefix + "overwrite."
	if overwrite.GetDeleteBlob() {
		return store.Replace{}, rpc.InvalidArgument(field+"delete_blob", "is not supported: outputs belong to the run that produced them")
	}
	age := overwrite.GetMaxAge()
	if age != nil && (age.CheckValid() != nil || age.AsDuration() < 0) {
		return store.Replace{}, rpc.InvalidArgument(field+"max_age", "must be a duration that is not negative")
	}
	return store.Replace{Always: overwrite.GetOverwrite(), OlderThan: age.AsDuration()}, nil
}

// maxMetadata bounds what an entry may carry, in bytes.
const maxMetadata = 64 << 10

// encodeMetadata leaves the times out, which are the store's.
func encodeMetadata(in scope, metadata *cachev1.Metadata) ([]byte, error) {
	body, err := proto.Marshal(&cachev1.Metadata{SourceIdentifier: metadata.GetSourceIdentifier(), KeyMap: metadata.GetKeyMap()})
	if err != nil || len(body) > maxMetadata {
		return nil, rpc.InvalidArgument(in.prefix+"output.metadata", "must be valid text of at most %d bytes", maxMetadata)
	}
	return body, nil
}
