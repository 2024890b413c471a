package artifacts

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/flyte-binary/flyte-binary/artifacts/store"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// DeclareArtifact implements artifactconnect.ArtifactServiceHandler. Declaring the same keys again changes nothing; other
// keys are refused, since the versions that exist have the first ones.
func (h *handler) DeclareArtifact(ctx context.Context, r *artifact.DeclareArtifactRequest) (*artifact.DeclareArtifactResponse, error) {
	if err := checkName("name", r.GetName()); err != nil {
		return nil, err
	}
	schema, err := schemaOf(r.GetPartitionSchema())
	if err != nil {
		return nil, err
	}
	name := nameOf(r.GetName())
	if err := h.writer.accepts(ctx, r.GetName(), true); err != nil {
		return nil, err
	}
	other, err := h.store.Declare(ctx, name, r.GetName().GetOrg(), schema)
	if err != nil {
		return nil, err
	}
	if other != nil {
		return nil, rpc.FailedPrecondition("artifact %s already has %s; use a new name for other keys", name.Name, describe(other.PartitionSchema))
	}
	return &artifact.DeclareArtifactResponse{PartitionSchema: schemaToProto(schema)}, nil
}

// GetArtifactSchema implements artifactconnect.ArtifactServiceHandler.
func (h *handler) GetArtifactSchema(ctx context.Context, r *artifact.GetArtifactSchemaRequest) (*artifact.GetArtifactSchemaResponse, error) {
	if err := checkName("name", r.GetName()); err != nil {
		return nil, err
	}
	name := nameOf(r.GetName())
	fixed, err := h.store.Schema(ctx, name)
	if err != nil {
		return nil, err
	}
	if fixed == nil {
		return nil, noArtifact(name)
	}
	return &artifact.GetArtifactSchemaResponse{PartitionSchema: schemaToProto(fixed.PartitionSchema), Declared: fixed.Declared}, nil
}

// schemaOf checks the keys of a declaration with the same bounds as those of versions, or no version could match it.
func schemaOf(given *artifact.ArtifactPartitionSchema) (store.PartitionSchema, error) {
	keys := given.GetPartitionKeys()
	if len(keys) > maxPartitionKeys {
		return store.PartitionSchema{}, rpc.InvalidArgument("partition_schema.partition_keys", "at most %d are allowed, got %d", maxPartitionKeys, len(keys))
	}
	for i, key := range keys {
		field := fmt.Sprintf("partition_schema.partition_keys[%d]", i)
		if key == "" || len(key) > maxKey || strings.ContainsRune(key, 0) {
			return store.PartitionSchema{}, rpc.InvalidArgument(field, "must have 1 to %d bytes, got %q", maxKey, key)
		}
		if slices.Contains(keys[:i], key) {
			return store.PartitionSchema{}, rpc.InvalidArgument(field, "duplicate key %q", key)
		}
	}
	schema := store.PartitionSchema{Keys: keys}
	if at := given.GetTimePartition(); at != nil {
		if err := checkTimeKey("partition_schema.time_partition", at.GetKey(), at.GetGranularity(), keys); err != nil {
			return schema, err
		}
		schema.TimeKey, schema.Granularity = at.GetKey(), int16(at.GetGranularity()) //nolint:gosec // an enum of few values
	}
	return schema, nil
}
