package builtin

import (
	"math"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/names/tasktype"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// maxSleep keeps the end of a sleep within the range of times.
const maxSleep = 100 * 365 * 24 * time.Hour

// sleep takes the task's only input.
func sleep(inputs *task.Inputs, template *core.TaskTemplate) (*store.Start, error) {
	if n := len(inputs.GetLiterals()); n != 1 {
		return nil, bad("a task of type %s takes one duration, got %d inputs", tasktype.Sleep, n)
	}
	if n := len(template.GetInterface().GetOutputs().GetVariables()); n > 0 {
		return nil, bad("a task of type %s has no outputs, and this one declares %d", tasktype.Sleep, n)
	}
	lasts, err := duration(inputs.GetLiterals()[0])
	if err != nil {
		return nil, err
	}
	return &store.Start{Lasts: lasts}, nil
}

// duration parses a duration, or a number of seconds.
func duration(input *task.NamedLiteral) (time.Duration, error) {
	var seconds float64
	switch value := input.GetValue().GetScalar().GetPrimitive().GetValue().(type) {
	case *core.Primitive_Duration:
		return min(max(value.Duration.AsDuration(), 0), maxSleep), nil
	case *core.Primitive_Integer:
		seconds = float64(value.Integer)
	case *core.Primitive_FloatValue:
		seconds = value.FloatValue
	default:
		return 0, bad("the input %s is neither a duration nor a number of seconds", input.GetName())
	}
	switch {
	case math.IsNaN(seconds):
		return 0, bad("the input %s is not a number", input.GetName())
	case seconds <= 0:
		return 0, nil
	// before the conversion, which would overflow
	case seconds >= maxSleep.Seconds():
		return maxSleep, nil
	}
	return time.Duration(seconds * float64(time.Second)), nil
}
