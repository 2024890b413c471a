package artifacts

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/artifacts/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// registrar registers the artifacts that tasks declare among their outputs.
type registrar struct {
	writer     *writer
	blobs      Blobs
	maxOutputs int64
}

// RegisterOutputs implements enginev1connect.ArtifactRegistryServiceHandler. A declaration that is wrong does not keep the
// others from being registered.
func (g *registrar) RegisterOutputs(ctx context.Context, r *enginev1.RegisterOutputsRequest) (*enginev1.RegisterOutputsResponse, error) {
	outputs, err := g.read(ctx, r.GetOutputUri())
	if err != nil {
		return nil, err
	}
	author, err := proto.Marshal(r.GetCreatedBy())
	if err != nil {
		return nil, rpc.InvalidArgument("created_by", "cannot be encoded")
	}
	values := map[string]*core.Literal{}
	for _, literal := range outputs.GetLiterals() {
		values[literal.GetName()] = literal.GetValue()
	}
	response := &enginev1.RegisterOutputsResponse{}
	versions := versions{action: ident.ActionOf(r.GetActionId()), attempt: r.GetAttempt(), taken: map[string]bool{}}
	for _, declared := range outputs.GetProducedArtifacts() {
		value := values[declared.GetOutput()]
		if value == nil {
			response.Refused = append(response.Refused, fmt.Sprintf("%s: the task has no output %q", declared.GetName(), declared.GetOutput()))
			continue
		}
		_, err := g.writer.create(ctx, candidate{
			id: versions.identifier(r.GetActionId().GetRun().GetOrg(), declared), spec: specOf(r, declared, value), author: author,
		})
		var refusal *rpc.Error
		switch {
		case err == nil:
			response.Created++
		case errors.Is(err, store.ErrExists):
			response.Existing++
		case errors.As(err, &refusal) && lasting(refusal.Kind):
			response.Refused = append(response.Refused, fmt.Sprintf("%s: %s", declared.GetName(), refusal.Public()))
		default:
			return nil, err // the caller repeats the whole request
		}
	}
	return response, nil
}

// lasting reports whether a repeated try would be refused, too.
func lasting(kind rpc.Kind) bool {
	switch kind {
	case rpc.KindInvalidArgument, rpc.KindNotFound, rpc.KindFailedPrecondition:
		return true
	default:
		return false
	}
}

// read reads the outputs. Errors that a repetition cannot change are NotFound, InvalidArgument or FailedPrecondition.
func (g *registrar) read(ctx context.Context, uri string) (*task.Outputs, error) {
	path := blobpath.OutputsPath(uri)
	body, err := g.blobs.ReadAll(ctx, path, g.maxOutputs)
	switch {
	case errors.Is(err, blobstore.ErrNotExist):
		return nil, rpc.NotFound("no outputs exist at %s", path)
	case errors.Is(err, blobstore.ErrForbiddenPath):
		return nil, rpc.InvalidArgument("output_uri", "is outside the storage of this installation")
	case errors.Is(err, blobstore.ErrTooLarge):
		return nil, rpc.FailedPrecondition("the outputs at %s are larger than %d bytes (artifacts.maxOutputsBytes)", path, g.maxOutputs)
	case err != nil:
		return nil, rpc.Unavailable(err, "the outputs at %s could not be read", path)
	}
	outputs := &task.Outputs{}
	if err := proto.Unmarshal(body, outputs); err != nil {
		return nil, rpc.FailedPrecondition("the outputs at %s are damaged", path)
	}
	return outputs, nil
}

// specOf is the spec of a declared version: what the task declares, with its action as the source.
func specOf(r *enginev1.RegisterOutputsRequest, declared *task.ProducedArtifact, value *core.Literal) *artifact.ArtifactSpec {
	return &artifact.ArtifactSpec{
		Value: value, Type: declared.GetType(), Info: declared.GetInfo(),
		Source: &artifact.ArtifactSource{Source: &artifact.ArtifactSource_TaskAction{TaskAction: &artifact.TaskActionSource{
			Action: r.GetActionId(), Attempt: r.GetAttempt(),
		}}},
		ParentArtifacts: declared.GetParentArtifacts(), Partitions: declared.GetPartitions(), TimePartition: declared.GetTimePartition(),
	}
}

// versions names the versions of declarations that have none: by the attempt that made them, so that a repeated
// registration finds what it created. The output distinguishes two outputs under one name.
type versions struct {
	action  ident.Action
	attempt uint32
	taken   map[string]bool
}

func (v *versions) identifier(org string, declared *task.ProducedArtifact) *artifact.ArtifactIdentifier {
	version := declared.GetVersion()
	if version == "" || version == latest {
		version = fmt.Sprintf("%s-%s-%d", v.action.Run.Name, v.action.Name, v.attempt)
		if v.taken[declared.GetName()] {
			version += "-" + declared.GetOutput()
		}
		v.taken[declared.GetName()] = true
	}
	return &artifact.ArtifactIdentifier{
		Name: &artifact.ArtifactName{Org: org, Project: v.action.Run.Project, Domain: v.action.Run.Domain, Name: declared.GetName()}, Version: version,
	}
}
