package rpc

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

func TestTextWithNULIsFound(t *testing.T) {
	const bad = "a\x00b"
	for path, message := range map[string]proto.Message{
		"run_id.name":          &workflow.GetRunDetailsRequest{RunId: &common.RunIdentifier{Project: "p", Name: bad}},
		`labels.values["k"]`:   &task.RunSpec{Labels: &task.Labels{Values: map[string]string{"k": bad}}},
		"labels.values":        &task.RunSpec{Labels: &task.Labels{Values: map[string]string{bad: "v"}}},
		"envs.values[1].value": &task.RunSpec{Envs: &task.Envs{Values: []*core.KeyValuePair{{Key: "x"}, {Key: "y", Value: bad}}}},
		"": &task.Inputs{Literals: []*task.NamedLiteral{{Name: "x", Value: &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{
			Value: &core.Scalar_Primitive{Primitive: &core.Primitive{Value: &core.Primitive_StringValue{StringValue: bad}}}},
		}}}}},
	} {
		require.Equal(t, path, nulIn(message.ProtoReflect()))
	}
}
