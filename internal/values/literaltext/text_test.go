package literaltext_test

import (
	"bytes"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/values/literaltext"
)

func of(value any) *core.Literal {
	scalar := func(s *core.Scalar) *core.Literal { return &core.Literal{Value: &core.Literal_Scalar{Scalar: s}} }
	primitive := func(p *core.Primitive) *core.Literal {
		return scalar(&core.Scalar{Value: &core.Scalar_Primitive{Primitive: p}})
	}
	switch v := value.(type) {
	case int:
		return primitive(&core.Primitive{Value: &core.Primitive_Integer{Integer: int64(v)}})
	case float64:
		return primitive(&core.Primitive{Value: &core.Primitive_FloatValue{FloatValue: v}})
	case string:
		return primitive(&core.Primitive{Value: &core.Primitive_StringValue{StringValue: v}})
	case bool:
		return primitive(&core.Primitive{Value: &core.Primitive_Boolean{Boolean: v}})
	case time.Time:
		return primitive(&core.Primitive{Value: &core.Primitive_Datetime{Datetime: timestamppb.New(v)}})
	case time.Duration:
		return primitive(&core.Primitive{Value: &core.Primitive_Duration{Duration: durationpb.New(v)}})
	case []any:
		list := &core.LiteralCollection{}
		for _, element := range v {
			list.Literals = append(list.Literals, of(element))
		}
		return &core.Literal{Value: &core.Literal_Collection{Collection: list}}
	case map[string]any:
		fields := map[string]*core.Literal{}
		for name, element := range v {
			fields[name] = of(element)
		}
		return &core.Literal{Value: &core.Literal_Map{Map: &core.LiteralMap{Literals: fields}}}
	case *core.Scalar:
		return scalar(v)
	default:
		return &core.Literal{}
	}
}

func packed(t *testing.T, value any) *core.Scalar {
	t.Helper()
	body, err := msgpack.Marshal(value)
	require.NoError(t, err)
	return &core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{Value: body, Tag: "msgpack"}}}
}

func TestText(t *testing.T) {
	when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("x", 3600))
	generic, err := structpb.NewStruct(map[string]any{"a": 1.0, "b": []any{"<x>"}})
	require.NoError(t, err)
	for _, tc := range []struct {
		name  string
		value any
		want  string
	}{
		{"integer", -42, "-42"},
		{"whole float", 3.0, "3"},
		{"float", 0.25, "0.25"},
		{"string as it is", "a b 'c' {{x}}", "a b 'c' {{x}}"},
		{"boolean", true, "true"},
		{"time in UTC", when, "2026-01-02T02:04:05Z"},
		{"duration", 90 * time.Second, "1m30s"},
		{"list", []any{1, "b", []any{}}, "[1,b,[]]"},
		{"map", map[string]any{"b": "<2>", "a": 1}, `{"a":"1","b":"<2>"}`},
		{"none", &core.Scalar{Value: &core.Scalar_NoneType{NoneType: &core.Void{}}}, ""},
		{"blob", &core.Scalar{Value: &core.Scalar_Blob{Blob: &core.Blob{Uri: "s3://b/k"}}}, "s3://b/k"},
		{"dataset", &core.Scalar{Value: &core.Scalar_StructuredDataset{StructuredDataset: &core.StructuredDataset{Uri: "/d"}}}, "/d"},
		{"union", &core.Scalar{Value: &core.Scalar_Union{Union: &core.Union{Value: of(7)}}}, "7"},
		{"structure", &core.Scalar{Value: &core.Scalar_Generic{Generic: generic}}, `{"a":1,"b":["<x>"]}`},
		{"packed", packed(t, map[string]any{"n": int64(math.MaxInt64), "l": []any{1.5, nil, true}, "by": []byte("hi")}), `{"by":"aGk=","l":[1.5,null,true],"n":9223372036854775807}`},
		{"packed string", packed(t, "plain"), "plain"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := literaltext.Text(of(tc.value))
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestLiteralsWithoutTextAreRefused(t *testing.T) {
	deep := of(1)
	for range 100 {
		deep = &core.Literal{Value: &core.Literal_Collection{Collection: &core.LiteralCollection{Literals: []*core.Literal{deep}}}}
	}
	bottomless := &core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{Value: bytes.Repeat([]byte{0x91}, 1<<20), Tag: "msgpack"}}}
	for name, tc := range map[string]struct {
		value *core.Literal
		words string
	}{
		"nothing":          {&core.Literal{}, "no value"},
		"nil":              {nil, "no value"},
		"offloaded":        {&core.Literal{Value: &core.Literal_OffloadedMetadata{}}, "too large"},
		"other binary":     {of(&core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{Tag: "pickle"}}}), "pickle"},
		"broken msgpack":   {of(&core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{Tag: "msgpack", Value: []byte{0xdd, 0xff, 0xff, 0xff, 0xff}}}}), "msgpack"},
		"not a number":     {of(packed(t, math.NaN())), "NaN"},
		"deep":             {deep, "nested"},
		"deep msgpack":     {of(bottomless), "nested"},
		"error":            {of(&core.Scalar{Value: &core.Scalar_Error{Error: &core.Error{}}}), "error"},
		"empty union":      {of(&core.Scalar{Value: &core.Scalar_Union{Union: &core.Union{}}}), "no value"},
		"nothing in lists": {of([]any{struct{}{}}), "no value"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := literaltext.Text(tc.value)
			require.ErrorContains(t, err, tc.words)
		})
	}
}

func FuzzText(f *testing.F) {
	f.Add([]byte{0x91, 0x01})
	f.Fuzz(func(_ *testing.T, body []byte) {
		_, _ = literaltext.Text(of(&core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{Value: body, Tag: "msgpack"}}}))
	})
}
