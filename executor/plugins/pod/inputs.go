package pod

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/executor/failure"
	"github.com/flyte-binary/flyte-binary/executor/plugin"
	"github.com/flyte-binary/flyte-binary/executor/rendering"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/layout"
)

// maxInputs bounds the inputs that are read to render arguments, in bytes: what fits into arguments is small.
const maxInputs = 16 << 20

// inputValues are the inputs of these names as text. The inputs are read only when there are names; an error means that
// they cannot be read now.
func (p *Plugin) inputValues(ctx context.Context, attempt *plugin.Attempt, names []string) (map[string]string, *failure.Failure, error) {
	if len(names) == 0 {
		return nil, nil, nil
	}
	given, bad, err := p.readInputs(ctx, attempt.Task.Spec.InputURI)
	if bad != nil || err != nil {
		return nil, bad, err
	}
	values := make(map[string]string, len(names))
	for _, name := range names {
		literal, found := given[name]
		if !found {
			return nil, failure.New(failure.BadTaskSpecification, "the arguments mention the input %q, which the task was not given", name), nil
		}
		if values[name], err = rendering.Text(literal); err != nil {
			return nil, failure.New(failure.BadTaskSpecification, "the arguments mention the input %q, but %v", name, err), nil
		}
	}
	return values, nil, nil
}

func (p *Plugin) readInputs(ctx context.Context, uri string) (map[string]*core.Literal, *failure.Failure, error) {
	if uri == "" {
		return nil, nil, nil
	}
	path := layout.InputsPath(uri)
	body, err := p.deps.Store.ReadAll(ctx, path, maxInputs)
	switch {
	case errors.Is(err, blobstore.ErrNotExist), errors.Is(err, blobstore.ErrTooLarge), errors.Is(err, blobstore.ErrForbiddenPath):
		return nil, failure.New(failure.BadTaskSpecification, "the arguments mention inputs, which cannot be read: %v", err), nil
	case err != nil:
		return nil, nil, fmt.Errorf("read inputs %s: %w", path, err)
	}
	inputs := &task.Inputs{}
	if err := proto.Unmarshal(body, inputs); err != nil {
		return nil, failure.New(failure.BadTaskSpecification, "the arguments mention inputs, which cannot be read: %v", err), nil
	}
	result := make(map[string]*core.Literal, len(inputs.GetLiterals()))
	for _, literal := range inputs.GetLiterals() {
		result[literal.GetName()] = literal.GetValue()
	}
	return result, nil, nil
}
