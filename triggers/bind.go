package triggers

import (
	"context"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/triggers/store"
)

// bound are the inputs that a run gets from the version that it is for: the value with its identity, so that the lineage
// knows the use, and values of its partitions.
func (s *starter) bound(ctx context.Context, d *decoded, f *store.Fire) ([]*task.NamedLiteral, error) {
	id := artifactVersion(d.Trigger, f)
	if id == nil {
		return nil, nil
	}
	answer, err := s.artifacts.GetArtifact(ctx, &artifact.GetArtifactRequest{
		Name:    &artifact.ArtifactName{Project: id.GetKey().GetProject(), Domain: id.GetKey().GetDomain(), Name: id.GetKey().GetName()},
		Version: &id.Version,
	})
	switch {
	case rpc.IsNotFound(err):
		return nil, rpc.FailedPrecondition("version %s was deleted before its run was created", f.Cause)
	case err != nil:
		return nil, err
	case !answer.GetArtifact().GetCreatedAt().AsTime().Equal(f.Slot):
		return nil, rpc.FailedPrecondition("version %s was deleted and created again, which fires the trigger by itself", f.Cause)
	}
	return bindings(d.automation.GetArtifact(), f.Cause, answer.GetArtifact().GetSpec())
}

// bindings are the inputs that an automation takes from a version.
func bindings(wanted *task.ArtifactTrigger, version string, spec *artifact.ArtifactSpec) ([]*task.NamedLiteral, error) {
	var inputs []*task.NamedLiteral
	if input := wanted.GetInputArg(); input != "" {
		inputs = append(inputs, &task.NamedLiteral{Name: input, Value: proto.CloneOf(spec.GetValue())})
	}
	for _, input := range slices.Sorted(maps.Keys(wanted.GetPartitionInputArgs())) {
		key := wanted.GetPartitionInputArgs()[input]
		primitive := &core.Primitive{}
		value, isText := spec.GetPartitions().GetValue()[key]
		switch at := spec.GetTimePartition(); {
		case at != nil && at.GetKey() == key:
			primitive.Value = &core.Primitive_Datetime{Datetime: timestamppb.New(at.GetValue().GetTimeValue().AsTime())}
		case isText:
			primitive.Value = &core.Primitive_StringValue{StringValue: value.GetStaticValue()}
		default:
			return nil, rpc.FailedPrecondition("version %s has no partition %s, which is to be the input %s", version, key, input)
		}
		inputs = append(inputs, &task.NamedLiteral{Name: input, Value: &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{
			Value: &core.Scalar_Primitive{Primitive: primitive},
		}}}})
	}
	return inputs, nil
}
