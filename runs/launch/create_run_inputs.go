package launch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/artifactref"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/values/cachekey"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// storeInputs writes the inputs where the task will read them, and returns their hash for the cache key and the artifacts
// among them. Inputs that were uploaded stay where they are, unless some are replaced. The path of inline inputs contains
// their hash: a request under the name of an existing run cannot change the inputs of that run, and a repeated request
// writes the same bytes.
func (c *Creator) storeInputs(
	ctx context.Context, root *schema.Root, spec *task.TaskSpec, request *workflow.CreateRunRequest, replaced []*task.NamedLiteral,
) (string, []schema.ArtifactKey, error) {
	given := request.GetInputs()
	if offloaded := request.GetOffloadedInputData(); offloaded != nil {
		if len(replaced) == 0 {
			root.InputURI = offloaded.GetUri()
			uses, err := c.offloadedUses(ctx, offloaded.GetUri())
			return offloaded.GetInputsHash(), uses, err
		}
		var err error
		if given, err = c.uploadedInputs(ctx, offloaded.GetUri()); err != nil {
			return "", nil, err
		}
	}
	inputs := withDefaults(replacing(given, replaced), spec.GetDefaultInputs())
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(inputs)
	if err != nil {
		return "", nil, rpc.InvalidArgument("inputs", "cannot be encoded: %s", err.Error())
	}
	if int64(len(body)) > c.Config.MaxInlineInputs {
		return "", nil, rpc.InvalidArgument("inputs", "inline inputs of %d bytes are too large; upload them", len(body))
	}
	sum := sha256.Sum256(body)
	root.InputURI = blobpath.RootInputs(root.RunOutputBase) + "/" + hex.EncodeToString(sum[:])
	ctx, cancel := context.WithTimeout(ctx, c.Config.InputsTimeout)
	defer cancel()
	if err := c.Inputs.WriteAll(ctx, blobpath.InputsPath(root.InputURI), body); err != nil {
		if errors.Is(err, blobstore.ErrForbiddenPath) {
			return "", nil, rpc.InvalidArgument("run_spec.run_base_dir", "is outside the storage of this installation")
		}
		return "", nil, rpc.Unavailable(err, "the inputs could not be stored")
	}
	return cachekey.InputsHash(inputs, spec.GetTaskTemplate().GetMetadata().GetCacheIgnoreInputVars()), usesOf(inputs), nil
}

// uploadedInputs reads the inputs that a client has uploaded.
func (c *Creator) uploadedInputs(ctx context.Context, uri string) (*task.Inputs, error) {
	const field = "offloaded_input_data.uri"
	ctx, cancel := context.WithTimeout(ctx, c.Config.InputsTimeout)
	defer cancel()
	body, err := c.Inputs.ReadAll(ctx, blobpath.InputsPath(uri), c.Config.MaxInlineInputs)
	switch {
	case errors.Is(err, blobstore.ErrNotExist):
		return nil, rpc.InvalidArgument(field, "no inputs exist at %s; they were deleted", uri)
	case errors.Is(err, blobstore.ErrTooLarge):
		return nil, rpc.InvalidArgument(field, "must have at most %d bytes to replace one of them", c.Config.MaxInlineInputs)
	case errors.Is(err, blobstore.ErrForbiddenPath):
		return nil, rpc.InvalidArgument(field, "is outside the storage of this installation")
	case err != nil:
		return nil, rpc.Unavailable(err, "the inputs could not be read")
	}
	inputs := &task.Inputs{}
	if err := proto.Unmarshal(body, inputs); err != nil {
		return nil, rpc.InvalidArgument(field, "the object at %s does not contain inputs", uri)
	}
	return inputs, nil
}

// replacing returns inputs with some values replaced or added.
func replacing(given *task.Inputs, replaced []*task.NamedLiteral) *task.Inputs {
	if len(replaced) == 0 {
		return given
	}
	inputs := &task.Inputs{Literals: slices.Clone(replaced), Context: given.GetContext()}
	for _, literal := range given.GetLiterals() {
		if !slices.ContainsFunc(replaced, func(r *task.NamedLiteral) bool { return r.GetName() == literal.GetName() }) {
			inputs.Literals = append(inputs.Literals, literal)
		}
	}
	return inputs
}

// offloadedUses reads inputs that have artifacts among them, which their name says. Inputs that the client named itself
// are not read. Inputs that are not there, or are not inputs, fail the task and need no explanation here.
func (c *Creator) offloadedUses(ctx context.Context, uri string) ([]schema.ArtifactKey, error) {
	if !blobpath.HasArtifacts(uri) {
		return nil, nil
	}
	inputs, err := c.offloadedInputs(ctx, uri)
	return usesOf(inputs), err
}

// offloadedInputs reads inputs that a client has uploaded; none if they are not there, or are too many to look at.
func (c *Creator) offloadedInputs(ctx context.Context, uri string) (*task.Inputs, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Config.InputsTimeout)
	defer cancel()
	body, err := c.Inputs.ReadAll(ctx, blobpath.InputsPath(uri), c.Config.MaxInlineInputs)
	if errors.Is(err, blobstore.ErrNotExist) || errors.Is(err, blobstore.ErrTooLarge) || errors.Is(err, blobstore.ErrForbiddenPath) {
		return &task.Inputs{}, nil
	}
	if err != nil {
		return nil, rpc.Unavailable(err, "the inputs could not be read")
	}
	inputs := &task.Inputs{}
	if proto.Unmarshal(body, inputs) != nil {
		return &task.Inputs{}, nil
	}
	return inputs, nil
}

func usesOf(inputs *task.Inputs) (keys []schema.ArtifactKey) {
	for _, used := range artifactref.Uses(inputs.GetLiterals()) {
		keys = append(keys, schema.ArtifactKey(used))
	}
	return keys
}

// withDefaults adds the task's defaults for inputs that the request leaves out.
func withDefaults(given *task.Inputs, defaults []*task.NamedParameter) *task.Inputs {
	inputs := &task.Inputs{Literals: slices.Clone(given.GetLiterals()), Context: given.GetContext()}
	present := make(map[string]bool, len(inputs.GetLiterals()))
	for _, literal := range inputs.GetLiterals() {
		present[literal.GetName()] = true
	}
	for _, parameter := range defaults {
		value := parameter.GetParameter().GetDefault()
		if value != nil && !present[parameter.GetName()] {
			inputs.Literals = append(inputs.Literals, &task.NamedLiteral{Name: parameter.GetName(), Value: value})
		}
	}
	return inputs
}
