package protoweight_test

import (
	"bytes"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/protoweight"
)

const unlimited = 1 << 40

// taken is what decoding allocates and keeps, in bytes. The first decoding also fills caches of the library, and the runtime
// allocates when it likes: the least of several measurements is that of the message.
func taken(t *testing.T, decode func() proto.Message) int {
	t.Helper()
	least := math.MaxInt
	for range 3 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		message := decode()
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(message)
		least = min(least, int(after.HeapAlloc)-int(before.HeapAlloc))
	}
	return least
}

func integers(n int) *dataproxy.UploadInputsRequest {
	list := &core.LiteralCollection{}
	for i := range n {
		list.Literals = append(list.Literals, &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{
			Value: &core.Scalar_Primitive{Primitive: &core.Primitive{Value: &core.Primitive_Integer{Integer: int64(i)}}},
		}}})
	}
	return inputs(&core.Literal{Value: &core.Literal_Collection{Collection: list}})
}

func inputs(value *core.Literal) *dataproxy.UploadInputsRequest {
	return &dataproxy.UploadInputsRequest{Inputs: &task.Inputs{Literals: []*task.NamedLiteral{{Name: "x", Value: value}}}}
}

func environment(n int) *dataproxy.UploadInputsRequest {
	m := &core.Literal{Metadata: map[string]string{}}
	for i := range n {
		m.Metadata[fmt.Sprint("K", i)] = fmt.Sprint("value ", i)
	}
	return inputs(m)
}

func structure(n int) *dataproxy.UploadInputsRequest {
	list := &structpb.ListValue{}
	for i := range n {
		list.Values = append(list.Values, structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
			"a": structpb.NewNumberValue(float64(i)),
		}}))
	}
	value := &structpb.Struct{Fields: map[string]*structpb.Value{"list": structpb.NewListValue(list)}}
	return inputs(&core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Generic{Generic: value}}}})
}

// TestWeightIsAnUpperBound compares the estimate with what the decoder really takes: never less, and for honest messages
// not absurdly more.
func TestWeightIsAnUpperBound(t *testing.T) {
	var types protoweight.Types
	bomb := func(field protowire.Number, inner string) func() []byte {
		return func() []byte {
			element := protowire.AppendTag(nil, field, protowire.BytesType)
			element = protowire.AppendBytes(element, []byte(inner))
			return bytes.Repeat(element, 25_000)
		}
	}
	within := func(field protowire.Number, body func() []byte) func() []byte {
		return func() []byte {
			return protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), body())
		}
	}
	encoded := func(message proto.Message) func() []byte {
		return func() []byte {
			body, err := proto.Marshal(message)
			require.NoError(t, err)
			return body
		}
	}
	inputsField := (&dataproxy.UploadInputsRequest{}).ProtoReflect().Descriptor().Fields().ByName("inputs").Number()
	for name, c := range map[string]struct {
		message proto.Message
		body    func() []byte
		atMost  float64 // times what is taken
	}{
		"empty literals":  {&dataproxy.UploadInputsRequest{}, within(inputsField, bomb(1, "")), 3},
		"unknown fields":  {&common.RunIdentifier{}, bomb(999, "x"), 3},
		"integers":        {&dataproxy.UploadInputsRequest{}, encoded(integers(15_000)), 2},
		"map of texts":    {&dataproxy.UploadInputsRequest{}, encoded(environment(15_000)), 3},
		"structs":         {&dataproxy.UploadInputsRequest{}, encoded(structure(10_000)), 2},
		"events, empty":   {&workflow.RecordActionEventsRequest{}, bomb(1, ""), 2},
		"one text":        {&common.RunIdentifier{}, encoded(&common.RunIdentifier{Name: strings.Repeat("x", 4<<20)}), 2},
		"packed integers": {&structpb.ListValue{}, bomb(1, "\x11\x00\x00\x00\x00\x00\x00\x00\x00"), 2},
	} {
		t.Run(name, func(t *testing.T) {
			body := c.body()
			real := taken(t, func() proto.Message {
				fresh := c.message.ProtoReflect().New().Interface()
				require.NoError(t, proto.Unmarshal(body, fresh))
				return fresh
			})
			weight, err := types.Binary(body, c.message.ProtoReflect().Descriptor(), unlimited)
			require.NoError(t, err)
			require.GreaterOrEqual(t, weight, real)
			require.LessOrEqual(t, float64(weight), c.atMost*float64(real))
		})
	}
}

func TestWeightOfJSONIsAnUpperBound(t *testing.T) {
	var types protoweight.Types
	for name, body := range map[string]string{
		"empty literals": `{"inputs":{"literals":[` + strings.Repeat(`{},`, 25_000) + `{}]}}`,
		"structs":        `{"inputs":{"literals":[{"value":{"scalar":{"generic":{"a":[` + strings.Repeat(`{"a":[0]},`, 15_000) + `1]}}}}]}}`,
		"numbers":        `{"inputs":{"literals":[{"value":{"scalar":{"generic":{"a":[` + strings.Repeat(`0,`, 25_000) + `0]}}}}]}}`,
		"maps":           `{"inputs":{"literals":[` + strings.Repeat(`{"value":{"metadata":{"":""}}},`, 15_000) + `{}]}}`,
		"escaped texts":  `{"inputs":{"literals":[` + strings.Repeat(`{"name":"\"{[,\\"},`, 15_000) + `{}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			real := taken(t, func() proto.Message {
				message := &dataproxy.UploadInputsRequest{}
				require.NoError(t, protojson.Unmarshal([]byte(body), message))
				return message
			})
			weight, err := types.JSON([]byte(body), (&dataproxy.UploadInputsRequest{}).ProtoReflect().Descriptor(), unlimited)
			require.NoError(t, err)
			require.GreaterOrEqual(t, weight, real)
			require.LessOrEqual(t, weight, 20*real)
		})
	}
}

// TestWeighingStopsAtTheLimit weighs 16 MiB of empty messages without looking at all of them.
func TestWeighingStopsAtTheLimit(t *testing.T) {
	var types protoweight.Types
	descriptor := (&workflow.RecordActionEventsRequest{}).ProtoReflect().Descriptor()
	body := bytes.Repeat([]byte("\x0a\x00"), 8<<20)
	weight, err := types.Binary(body, descriptor, 1<<20)
	require.NoError(t, err)
	require.Greater(t, weight, 1<<20)
	require.Less(t, weight, 1<<20+1<<10)
	weight, err = types.JSON([]byte(`{"events":[`+strings.Repeat(`{},`, 100_000)), descriptor, 1<<20)
	require.NoError(t, err)
	require.Greater(t, weight, 1<<20)
	require.Less(t, weight, 1<<20+1<<11)
}

func TestWeightOfMalformedData(t *testing.T) {
	var types protoweight.Types
	descriptor := (&workflow.RecordActionEventsRequest{}).ProtoReflect().Descriptor()
	for _, body := range []string{"", "\x0a", "\x0a\xff\xff\xff\xff\x0f", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "\x0b\x0b\x0b", "\x0c"} {
		weight, err := types.Binary([]byte(body), descriptor, unlimited)
		require.NoError(t, err)
		require.Less(t, weight, 4096, "%q", body)
		weight, err = types.JSON([]byte(body), descriptor, unlimited)
		require.NoError(t, err)
		require.Less(t, weight, 4096, "%q", body)
	}
}

// TestDepthIsLimited nests lists in lists, which the decoder would follow with a stack of megabytes.
func TestDepthIsLimited(t *testing.T) {
	var types protoweight.Types
	nested := func(depth int) *dataproxy.UploadInputsRequest {
		value := &core.Literal{}
		for range depth {
			value = &core.Literal{Value: &core.Literal_Collection{Collection: &core.LiteralCollection{Literals: []*core.Literal{value}}}}
		}
		return inputs(value)
	}
	for depth, want := range map[int]error{20: nil, 1000: protoweight.ErrTooDeep} {
		message := nested(depth)
		body, err := proto.Marshal(message)
		require.NoError(t, err)
		_, err = types.Binary(body, message.ProtoReflect().Descriptor(), unlimited)
		require.ErrorIs(t, err, want)
		body, err = protojson.Marshal(message)
		require.NoError(t, err)
		_, err = types.JSON(body, message.ProtoReflect().Descriptor(), unlimited)
		require.ErrorIs(t, err, want)
	}
}

func BenchmarkBinary(b *testing.B) {
	var types protoweight.Types
	message := integers(1000)
	body, err := proto.Marshal(message)
	require.NoError(b, err)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		_, err := types.Binary(body, message.ProtoReflect().Descriptor(), unlimited)
		require.NoError(b, err)
	}
}

func BenchmarkUnmarshal(b *testing.B) {
	message := integers(1000)
	body, err := proto.Marshal(message)
	require.NoError(b, err)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, proto.Unmarshal(body, &dataproxy.UploadInputsRequest{}))
	}
}
