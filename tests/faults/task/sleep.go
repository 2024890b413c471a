package main

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/tests/faults/script"
)

// sleepInputs is what a sleeping action reads.
func sleepInputs(n script.Node) *task.Inputs {
	return &task.Inputs{Literals: []*task.NamedLiteral{{Name: "duration", Value: &core.Literal{
		Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Primitive{Primitive: &core.Primitive{
			Value: &core.Primitive_Duration{Duration: durationpb.New(time.Duration(n.Millis) * time.Millisecond)},
		}}}},
	}}}}
}
