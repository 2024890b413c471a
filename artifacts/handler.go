package artifacts

import (
	"cmp"
	"context"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/artifacts/store"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// latest is the version by which clients ask for the newest one.
const latest = "latest"

const (
	// maxKeys is how many metadata keys a list has.
	maxKeys = 1000
	// maxValues is how many partition values a list has, and how many when the request has no limit.
	maxValues = 10_000
	stdValues = 1000
)

// handler serves ArtifactService.
type handler struct {
	store  *store.Store
	writer *writer
}

// GetArtifact implements artifactconnect.ArtifactServiceHandler. Without a version, or with "latest", it reads the version
// that was created last.
func (h *handler) GetArtifact(ctx context.Context, r *artifact.GetArtifactRequest) (*artifact.GetArtifactResponse, error) {
	if err := checkName("name", r.GetName()); err != nil {
		return nil, err
	}
	var found *store.Version
	var err error
	name, version := nameOf(r.GetName()), r.GetVersion()
	if version == "" || version == latest {
		found, err = h.store.Latest(ctx, name)
	} else {
		found, err = h.store.Get(ctx, store.VersionKey{Name: name, Version: version})
	}
	switch {
	case err != nil:
		return nil, err
	case found == nil && version != "" && version != latest:
		return nil, rpc.NotFound("artifact %s has no version %s in project %s and domain %s", name.Name, version, name.Project, name.Domain)
	case found == nil:
		return nil, noArtifact(name)
	}
	message, err := toProto(found)
	return &artifact.GetArtifactResponse{Artifact: message}, err
}

func noArtifact(name store.Name) error {
	return rpc.NotFound("artifact %s does not exist in project %s and domain %s", name.Name, name.Project, name.Domain)
}

// ListArtifacts implements artifactconnect.ArtifactServiceHandler. The newest come first unless the request sorts them.
func (h *handler) ListArtifacts(ctx context.Context, r *artifact.ListArtifactsRequest) (*artifact.ListArtifactsResponse, error) {
	place, err := placeOf(r.GetProjectId())
	if err != nil {
		return nil, err
	}
	scope := store.ListScope{Place: place, Name: r.GetName(), LatestPerPartition: r.GetLatestPerPartition()}
	page, token, err := h.store.List(ctx, scope, r.GetRequest())
	if err != nil {
		return nil, err
	}
	response := &artifact.ListArtifactsResponse{Token: token}
	for i := range page {
		message, err := toProto(&page[i])
		if err != nil {
			return nil, err
		}
		response.Artifacts = append(response.Artifacts, message)
	}
	return response, nil
}

// ListArtifactNames implements artifactconnect.ArtifactServiceHandler.
func (h *handler) ListArtifactNames(ctx context.Context, r *artifact.ListArtifactNamesRequest) (*artifact.ListArtifactNamesResponse, error) {
	place, err := placeOf(r.GetProjectId())
	if err != nil {
		return nil, err
	}
	page, token, err := h.store.ListNames(ctx, place, r.GetRequest())
	if err != nil {
		return nil, err
	}
	response := &artifact.ListArtifactNamesResponse{Token: token}
	for i := range page {
		group := &page[i]
		message, err := toProto(&group.Latest)
		if err != nil {
			return nil, err
		}
		out := &artifact.ArtifactGroup{
			Latest: message, Versions: uint64(group.Versions), PartitionSchema: schemaToProto(group.Schema), //nolint:gosec // a count
		}
		if group.LatestTimePartition != nil {
			out.LatestTimePartition = timestamppb.New(*group.LatestTimePartition)
		}
		for _, body := range group.LatestPartitions {
			values := &core.Partitions{}
			if err := proto.Unmarshal(body, values); err != nil {
				return nil, rpc.DataLoss(err, "the partitions of artifact %s cannot be read", group.Latest.Name.Name)
			}
			out.LatestPartitions = append(out.LatestPartitions, values)
		}
		response.Groups = append(response.Groups, out)
	}
	return response, nil
}

// ListArtifactMetadataKeys implements artifactconnect.ArtifactServiceHandler. It lists the first 1000 keys.
func (h *handler) ListArtifactMetadataKeys(
	ctx context.Context, r *artifact.ListArtifactMetadataKeysRequest,
) (*artifact.ListArtifactMetadataKeysResponse, error) {
	place, err := placeOf(r.GetProjectId())
	if err != nil {
		return nil, err
	}
	keys, err := h.store.MetadataKeys(ctx, place, r.GetName(), maxKeys)
	return &artifact.ListArtifactMetadataKeysResponse{Keys: keys}, err
}

// ListPartitionValues implements artifactconnect.ArtifactServiceHandler.
func (h *handler) ListPartitionValues(ctx context.Context, r *artifact.ListPartitionValuesRequest) (*artifact.ListPartitionValuesResponse, error) {
	place, err := placeOf(r.GetProjectId())
	if err != nil {
		return nil, err
	}
	name := store.Name{Project: place.Project, Domain: place.Domain, Name: r.GetName()}
	schema, err := h.store.Schema(ctx, name)
	switch {
	case err != nil:
		return nil, err
	case schema == nil:
		return nil, noArtifact(name)
	case r.GetKey() != schema.TimeKey && !slices.Contains(schema.Keys, r.GetKey()):
		return nil, rpc.InvalidArgument("key", "artifact %s has no partition key %q; it has %s", name.Name, r.GetKey(), describe(schema.PartitionSchema))
	}
	limit := cmp.Or(int(r.GetRequest().GetLimit()), stdValues)
	if limit > maxValues {
		return nil, rpc.InvalidArgument("request.limit", "at most %d values are listed, got %d", maxValues, limit)
	}
	values, err := h.store.PartitionValues(ctx, name, r.GetKey(), r.GetRequest().GetFilters(), limit)
	return &artifact.ListPartitionValuesResponse{Values: values}, err
}

// DeleteArtifact implements artifactconnect.ArtifactServiceHandler. It deletes the version and none of its data; retention
// may then delete the run that made them.
func (h *handler) DeleteArtifact(ctx context.Context, r *artifact.DeleteArtifactRequest) (*artifact.DeleteArtifactResponse, error) {
	key := keyOf(r.GetArtifactId())
	deleted, err := h.store.Delete(ctx, key)
	if err != nil {
		return nil, err
	}
	if !deleted {
		return nil, rpc.NotFound("artifact %s has no version %s in project %s and domain %s", key.Name.Name, key.Version, key.Project, key.Domain)
	}
	return &artifact.DeleteArtifactResponse{}, nil
}

func placeOf(id *common.ProjectIdentifier) (store.Place, error) {
	switch {
	case id.GetName() == "":
		return store.Place{}, rpc.InvalidArgument("project_id.name", "is required")
	case id.GetDomain() == "":
		return store.Place{}, rpc.InvalidArgument("project_id.domain", "is required")
	}
	return store.Place{Project: id.GetName(), Domain: id.GetDomain()}, nil
}
