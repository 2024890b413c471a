package artifacts

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/artifacts/store"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// toProto is a version as the contract has it. Its value carries the identity of the artifact, which clients copy into
// the inputs of runs.
func toProto(v *store.Version) (*artifact.Artifact, error) {
	spec := &artifact.ArtifactSpec{}
	if err := proto.Unmarshal(v.Spec, spec); err != nil {
		return nil, rpc.DataLoss(err, "the stored spec of artifact %s version %s cannot be read", v.Name.Name, v.Version)
	}
	if spec.GetValue() != nil {
		spec.Value.ArtifactId = versionID(v.VersionKey, v.Org)
	}
	out := &artifact.Artifact{ArtifactId: identifier(v.VersionKey, v.Org), Spec: spec, CreatedAt: timestamppb.New(v.CreatedAt)}
	if len(v.CreatedBy) > 0 {
		out.CreatedBy = &common.EnrichedIdentity{}
		if err := proto.Unmarshal(v.CreatedBy, out.GetCreatedBy()); err != nil {
			return nil, rpc.DataLoss(err, "the author of artifact %s version %s cannot be read", v.Name.Name, v.Version)
		}
	}
	if len(v.Mismatch) > 0 {
		out.PartitionSchemaMismatch = &artifact.PartitionSchemaMismatch{}
		if err := proto.Unmarshal(v.Mismatch, out.GetPartitionSchemaMismatch()); err != nil {
			return nil, rpc.DataLoss(err, "the mismatch of artifact %s version %s cannot be read", v.Name.Name, v.Version)
		}
	}
	return out, nil
}

func identifier(key store.VersionKey, org string) *artifact.ArtifactIdentifier {
	return &artifact.ArtifactIdentifier{
		Name: &artifact.ArtifactName{Org: org, Project: key.Project, Domain: key.Domain, Name: key.Name.Name}, Version: key.Version,
	}
}

func versionID(key store.VersionKey, org string) *core.ArtifactVersionId {
	return &core.ArtifactVersionId{
		Key: &core.ArtifactKey{Org: org, Project: key.Project, Domain: key.Domain, Name: key.Name.Name}, Version: key.Version,
	}
}

func nameOf(id *artifact.ArtifactName) store.Name {
	return store.Name{Project: id.GetProject(), Domain: id.GetDomain(), Name: id.GetName()}
}

func keyOf(id *artifact.ArtifactIdentifier) store.VersionKey {
	return store.VersionKey{Name: nameOf(id.GetName()), Version: id.GetVersion()}
}
