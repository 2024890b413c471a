package triggers

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/triggers/store"
)

// maxChain is how many runs are looked at to see whether a version goes back to its own trigger. A longer circle is not
// found here; the bound on runs per minute slows it down.
const maxChain = 20

// version reads the version that a run is for; nil for a slot of a schedule.
func (s *starter) version(ctx context.Context, d *decoded, f *store.Fire) (*artifact.Artifact, error) {
	id := artifactVersion(d.Trigger, f)
	if id == nil {
		return nil, nil //nolint:nilnil // documented
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
		return nil, rpc.FailedPrecondition("version %s was deleted and created again; the new version fires the trigger itself", f.Cause)
	}
	return answer.GetArtifact(), nil
}

// sourceOf is the run that made a version; nil if none did.
func sourceOf(version *artifact.Artifact) *common.RunIdentifier {
	return version.GetSpec().GetSource().GetTaskAction().GetAction().GetRun()
}

// circular is why a version must not fire a trigger: a run of this trigger led to it, through the runs that made it and the
// versions for which those were started. Without this, a task that publishes what its trigger waits for would run forever.
func (s *starter) circular(ctx context.Context, d *decoded, version *artifact.Artifact) (string, error) {
	run := sourceOf(version)
	for range maxChain {
		if run.GetName() == "" {
			return "", nil
		}
		answer, err := s.runs.GetRunDetails(ctx, &workflow.GetRunDetailsRequest{RunId: run})
		if rpc.IsNotFound(err) {
			return "", nil // it was deleted
		}
		if err != nil {
			return "", err
		}
		metadata := answer.GetDetails().GetAction().GetMetadata()
		if by := metadata.GetTriggerId().GetName(); by.GetName() == d.Name && by.GetTaskName() == d.Task.Name {
			return fmt.Sprintf("the version comes from run %s, which this trigger started: it would trigger itself forever", run.GetName()), nil
		}
		if metadata.GetRelation().GetRelationType() != common.RelationType_RELATION_TYPE_ON_ARTIFACT {
			return "", nil
		}
		run = metadata.GetRelation().GetRelatedTo()
	}
	return "", nil
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
			return nil, rpc.FailedPrecondition("version %s has no partition %s for input %s", version, key, input)
		}
		inputs = append(inputs, &task.NamedLiteral{Name: input, Value: &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{
			Value: &core.Scalar_Primitive{Primitive: primitive},
		}}}})
	}
	return inputs, nil
}
