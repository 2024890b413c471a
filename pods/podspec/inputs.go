package podspec

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/attempts/failure"
	"github.com/flyte-binary/flyte-binary/attempts/rendering"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/pods/plugin"
)

// maxInputs is the largest inputs document that is read to render arguments, in bytes. What fits into arguments is small.
const maxInputs = 16 << 20

// inputValues returns the inputs of these names as text. Inputs are read only when there are names.
func (b *Builder) inputValues(ctx context.Context, attempt *plugin.Attempt, names []string) (map[string]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	given, err := b.readInputs(ctx, attempt.Task.Spec.InputURI)
	if err != nil {
		return nil, err
	}
	values := make(map[string]string, len(names))
	for _, name := range names {
		literal, found := given[name]
		if !found {
			return nil, failure.New(failure.BadTaskSpecification, "the arguments mention the input %q, which the task was not given", name)
		}
		if values[name], err = rendering.Text(literal); err != nil {
			return nil, failure.New(failure.BadTaskSpecification, "the arguments mention the input %q, but %v", name, err)
		}
	}
	return values, nil
}

func (b *Builder) readInputs(ctx context.Context, uri string) (map[string]*core.Literal, error) {
	if uri == "" {
		return nil, nil
	}
	path := blobpath.InputsPath(uri)
	body, err := b.deps.Store.ReadAll(ctx, path, maxInputs)
	switch {
	case errors.Is(err, blobstore.ErrNotExist), errors.Is(err, blobstore.ErrTooLarge), errors.Is(err, blobstore.ErrForbiddenPath):
		return nil, failure.New(failure.BadTaskSpecification, "the arguments mention inputs, which cannot be read: %v", err)
	case err != nil:
		return nil, fmt.Errorf("read inputs %s: %w", path, err)
	}
	inputs := &task.Inputs{}
	if err := proto.Unmarshal(body, inputs); err != nil {
		return nil, failure.New(failure.BadTaskSpecification, "the arguments mention inputs, which cannot be read: %v", err)
	}
	result := make(map[string]*core.Literal, len(inputs.GetLiterals()))
	for _, literal := range inputs.GetLiterals() {
		result[literal.GetName()] = literal.GetValue()
	}
	return result, nil
}
