package builtin

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// echo writes the outputs that the task declares. Writing is idempotent, so the process may die before the action has
// started.
func (t *Tasks) echo(ctx context.Context, action *worklists.DueAction, inputs *task.Inputs, template *core.TaskTemplate) (*store.Start, error) {
	declared := template.GetInterface().GetOutputs().GetVariables()
	if len(declared) == 0 {
		return &store.Start{}, nil
	}
	outputs := &task.Outputs{}
	for _, output := range declared {
		value, err := source(output.GetKey(), inputs, template)
		if err != nil {
			return nil, err
		}
		outputs.Literals = append(outputs.Literals, &task.NamedLiteral{Name: output.GetKey(), Value: value})
	}
	body, err := proto.Marshal(outputs)
	if err != nil {
		return nil, bad("the outputs cannot be encoded")
	}
	uri := blobpath.AttemptDir(action.RunOutputBase, action.Name, uint32(action.Attempt)) + "/" + blobpath.OutputsFile //nolint:gosec // from 1
	switch err := t.blobs.WriteAll(ctx, uri, body); {
	case errors.Is(err, blobstore.ErrForbiddenPath):
		return nil, bad("the outputs cannot be written: %s", err)
	case err != nil:
		return nil, fmt.Errorf("write outputs: %w", err)
	}
	return &store.Start{Outputs: true}, nil
}

// source is the input that becomes an output: the one of the same name or, for the names o0, o1 and so on that
// clients give to unnamed results, the input at that position.
func source(output string, inputs *task.Inputs, template *core.TaskTemplate) (*core.Literal, error) {
	name := output
	if !has(inputs, output) {
		declared := template.GetInterface().GetInputs().GetVariables()
		place, err := strconv.Atoi(strings.TrimPrefix(output, "o"))
		if err != nil || !strings.HasPrefix(output, "o") || place < 0 || place >= len(declared) {
			return nil, bad("the output %s has no input of its name", output)
		}
		name = declared[place].GetKey()
	}
	for _, input := range inputs.GetLiterals() {
		if input.GetName() == name {
			return input.GetValue(), nil
		}
	}
	return nil, bad("the output %s has no input of its name", output)
}

func has(inputs *task.Inputs, name string) bool {
	for _, input := range inputs.GetLiterals() {
		if input.GetName() == name {
			return true
		}
	}
	return false
}
