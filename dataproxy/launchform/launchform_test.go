package launchform

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/internal/test/proptest"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
)

func TestTypesSurviveARoundTrip(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		// The title of a dataclass gives way to the mark of dataclasses.
		of := anyType(3).Filter(func(of *core.LiteralType) bool { return !strings.Contains(of.String(), "metadata") }).Draw(t, "type")
		s, err := Schema(of)
		require.NoError(t, err)
		back, err := Type(s)
		require.NoError(t, err)
		require.True(t, proto.Equal(of, back), "%v\n%v", of, back)
	})
}

func optional(t *core.LiteralType) *core.LiteralType {
	return &core.LiteralType{Type: &core.LiteralType_UnionType{UnionType: &core.UnionType{
		Variants: []*core.LiteralType{t, simple(core.SimpleType_NONE)},
	}}}
}

func variables(entries ...*core.VariableEntry) *core.VariableMap {
	return &core.VariableMap{Variables: entries}
}

func variable(name string, t *core.LiteralType) *core.VariableEntry {
	return &core.VariableEntry{Key: name, Value: &core.Variable{Type: t, Description: "about " + name}}
}

func TestTaskFormHasOrderDefaultsAndDescriptions(t *testing.T) {
	spec := &task.TaskSpec{
		TaskTemplate: &core.TaskTemplate{Interface: &core.TypedInterface{Inputs: variables(
			variable("z", simple(core.SimpleType_INTEGER)),
			variable("o", optional(simple(core.SimpleType_STRING))),
			variable("a", simple(core.SimpleType_DURATION)),
			variable("n", optional(simple(core.SimpleType_INTEGER))),
		)}},
		DefaultInputs: []*task.NamedParameter{
			{Name: "z", Parameter: &core.Parameter{Behavior: &core.Parameter_Default{
				Default: primitive(&core.Primitive{Value: &core.Primitive_Integer{Integer: 3}}),
			}}},
			{Name: "n", Parameter: &core.Parameter{Behavior: &core.Parameter_Default{Default: union(none(), simple(core.SimpleType_NONE))}}},
			{Name: "a", Parameter: &core.Parameter{Behavior: &core.Parameter_Required{Required: true}}},
		},
	}
	form, err := TaskForm(spec)
	require.NoError(t, err)
	want := `{"type": "object", "title": "Launch Form", "required": ["z", "a"], "properties": {
		"z": {"type": "integer", "default": 3, "description": "about z"},
		"o": {"format": "union", "oneOf": [{"type": "string", "title": "string"}, {"type": "null", "title": "none"}], "description": "about o"},
		"n": {"format": "union", "default": null, "oneOf": [{"type": "integer", "title": "integer"}, {"type": "null", "title": "none"}], "description": "about n"},
		"a": {"type": "string", "format": "duration", "description": "about a"}}}`
	got, err := protojson.Marshal(form)
	require.NoError(t, err)
	require.JSONEq(t, want, string(got))

	_, err = FromForm(form)
	require.ErrorContains(t, err, "inputs.a: is required")
	field(form, "properties").GetStructValue().GetFields()["a"].GetStructValue().Fields["default"] = structpb.NewNumberValue(90)
	literals, err := FromForm(form)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "n", "o", "z"}, names(literals))
	require.True(t, proto.Equal(durationpb.New(90e9), literals[0].GetValue().GetScalar().GetPrimitive().GetDuration()))
	require.NotNil(t, literals[2].GetValue().GetScalar().GetUnion().GetValue().GetScalar().GetNoneType(), "a missing optional is none")
}

func names(literals []*task.NamedLiteral) []string {
	var result []string
	for _, l := range literals {
		result = append(result, l.GetName())
	}
	return result
}

func TestFromValuesKeepsTheOrderOfTheInterface(t *testing.T) {
	vars := variables(variable("z", simple(core.SimpleType_INTEGER)), variable("a", optional(simple(core.SimpleType_FLOAT))))
	values, err := structpb.NewStruct(map[string]any{"z": 3, "extra": "ignored"})
	require.NoError(t, err)
	literals, err := FromValues(vars, values)
	require.NoError(t, err)
	require.Equal(t, []string{"z", "a"}, names(literals))
	_, err = FromValues(vars, nil)
	require.ErrorContains(t, err, "values.z: is required")
}

func TestDataclasses(t *testing.T) {
	metadata, err := structpb.NewStruct(map[string]any{
		"title": "Point", "type": "object", "additionalProperties": false, "properties": map[string]any{"x": map[string]any{"type": "integer"}},
	})
	require.NoError(t, err)
	of := simple(core.SimpleType_STRUCT)
	of.Metadata = metadata
	s, err := Schema(of)
	require.NoError(t, err)
	require.Equal(t, "dataclass", text(s, "title"))
	require.NotContains(t, s.GetFields(), "additionalProperties")
	back, err := Type(s)
	require.NoError(t, err)
	require.Equal(t, core.SimpleType_STRUCT, back.GetSimple())

	packed, err := msgpack.Marshal(map[any]any{"x": 1, 7: []byte("ab"), "deep": []any{uint64(math.MaxUint64), nil, true, 1.5}})
	require.NoError(t, err)
	value, err := jsonOf("x", scalar(&core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{Value: packed, Tag: "msgpack"}}}), 0)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"x": 1.0, "7": "YWI=", "deep": []any{"18446744073709551615", nil, true, 1.5}}, value)
}

func TestExactNumbers(t *testing.T) {
	for _, n := range []int64{math.MaxInt64, math.MinInt64, maxExact + 2, maxExact + 1, -maxExact - 1, maxExact, 0, -1} {
		back, err := parseInteger("x", integerJSON(n))
		require.NoError(t, err)
		require.Equal(t, n, back)
	}
	for _, f := range []float64{math.Inf(1), math.Inf(-1), math.MaxFloat64} {
		back, err := parseFloat("x", floatJSON(f))
		require.NoError(t, err)
		require.Equal(t, f, back)
	}
	for text, seconds := range map[any]int64{"1h30m": 5400, "90": 90, 90.0: 90, "-5": -5} {
		d, err := parseDuration("x", text)
		require.NoError(t, err)
		require.Equal(t, seconds, d.GetSeconds())
	}
	d, err := parseDuration("x", 1.5)
	require.NoError(t, err)
	require.Equal(t, int32(500000000), d.GetNanos())
}

func TestUnions(t *testing.T) {
	of := &core.LiteralType{Type: &core.LiteralType_UnionType{UnionType: &core.UnionType{Variants: []*core.LiteralType{
		{Type: simple(core.SimpleType_INTEGER).GetType(), Structure: &core.TypeStructure{Tag: "int"}},
		{Type: simple(core.SimpleType_STRING).GetType(), Structure: &core.TypeStructure{Tag: "str"}},
	}}}}
	for value, tag := range map[any]string{3.0: "int", "x": "str", "3": "str"} {
		literal, err := literalOf("x", of, value, 0)
		require.NoError(t, err)
		require.Equal(t, tag, literal.GetScalar().GetUnion().GetType().GetStructure().GetTag(), value)
	}
	files := &core.LiteralType{Type: &core.LiteralType_UnionType{UnionType: &core.UnionType{Variants: []*core.LiteralType{
		{Type: &core.LiteralType_Blob{Blob: &core.BlobType{}}},
		{Type: &core.LiteralType_StructuredDatasetType{StructuredDatasetType: &core.StructuredDatasetType{}}},
	}}}}
	literal, err := literalOf("x", files, map[string]any{"uri": "u", "format": "parquet"}, 0)
	require.NoError(t, err)
	require.NotNil(t, literal.GetScalar().GetUnion().GetValue().GetScalar().GetStructuredDataset())

	_, err = literalOf("x", of, nil, 0)
	require.ErrorContains(t, err, "fits none of the 2 variants")
	_, err = literalOf("x", of, 1.5, 0)
	require.ErrorContains(t, err, "x")
	s, err := Schema(of)
	require.NoError(t, err)
	back, err := Type(s)
	require.NoError(t, err)
	require.True(t, proto.Equal(of, back))
}

func TestWrongInput(t *testing.T) {
	dataset := &core.LiteralType{Type: &core.LiteralType_StructuredDatasetType{StructuredDatasetType: &core.StructuredDatasetType{}}}
	blob := &core.LiteralType{Type: &core.LiteralType_Blob{Blob: &core.BlobType{}}}
	enum := &core.LiteralType{Type: &core.LiteralType_EnumType{EnumType: &core.EnumType{Values: []string{"A"}}}}
	ints := &core.LiteralType{Type: &core.LiteralType_CollectionType{CollectionType: simple(core.SimpleType_INTEGER)}}
	intMap := &core.LiteralType{Type: &core.LiteralType_MapValueType{MapValueType: simple(core.SimpleType_INTEGER)}}
	for name, test := range map[string]struct {
		of    *core.LiteralType
		value any
		path  string
	}{
		"fraction":            {simple(core.SimpleType_INTEGER), 1.5, "x"},
		"large integer":       {simple(core.SimpleType_INTEGER), 1e19, "x"},
		"integer of text":     {simple(core.SimpleType_INTEGER), "one", "x"},
		"float of text":       {simple(core.SimpleType_FLOAT), "1", "x"},
		"string of number":    {simple(core.SimpleType_STRING), 1.0, "x"},
		"boolean of text":     {simple(core.SimpleType_BOOLEAN), "true", "x"},
		"datetime":            {simple(core.SimpleType_DATETIME), "yesterday", "x"},
		"duration":            {simple(core.SimpleType_DURATION), "soon", "x"},
		"long duration":       {simple(core.SimpleType_DURATION), 1e300, "x"},
		"long duration text":  {simple(core.SimpleType_DURATION), "9223372036854775807", "x"},
		"null":                {simple(core.SimpleType_STRING), nil, "x"},
		"not null":            {simple(core.SimpleType_NONE), 1.0, "x"},
		"struct":              {simple(core.SimpleType_STRUCT), "x", "x"},
		"error":               {simple(core.SimpleType_ERROR), "x", "x"},
		"enum":                {enum, "B", "x"},
		"list":                {ints, 1.0, "x"},
		"item":                {ints, []any{1.0, "two"}, "x[1]"},
		"map":                 {intMap, 1.0, "x"},
		"field":               {intMap, map[string]any{"k": "v"}, "x.k"},
		"blob":                {blob, "s3://b", "x"},
		"blob without uri":    {blob, map[string]any{}, "x.uri"},
		"blob format":         {blob, map[string]any{"uri": "u", "format": 1.0}, "x.format"},
		"blob dimensionality": {blob, map[string]any{"uri": "u", "dimensionality": "BOTH"}, "x.dimensionality"},
		"dataset":             {dataset, 1.0, "x"},
		"dataset no uri":      {dataset, map[string]any{"format": "parquet"}, "x.uri"},
		"dataset no format":   {dataset, map[string]any{"uri": "u"}, "x.format"},
		"no type":             {nil, 1.0, "x"},
		"schema":              {&core.LiteralType{Type: &core.LiteralType_Schema{}}, "x", "x"},
		"unknown simple":      {simple(99), "x", "x"},
	} {
		_, err := literalOf("x", test.of, test.value, 0)
		require.Error(t, err, name)
		require.ErrorContains(t, err, test.path+":", name)
	}
	for name, literal := range map[string]*core.Literal{
		"nil":        nil,
		"offloaded":  {Value: &core.Literal_OffloadedMetadata{}},
		"schema":     scalar(&core.Scalar{Value: &core.Scalar_Schema{}}),
		"error":      scalar(&core.Scalar{Value: &core.Scalar_Error{}}),
		"no scalar":  scalar(nil),
		"empty":      primitive(nil),
		"no msgpack": scalar(&core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{Tag: "msgpack", Value: []byte{0xc1}}}}),
		"cut off":    scalar(&core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{Tag: "msgpack", Value: []byte{0xdd, 0xff, 0xff, 0xff, 0xff}}}}),
		"deep": scalar(&core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{
			Tag: "msgpack", Value: []byte(strings.Repeat("\x91", 1<<20)),
		}}}),
		"bad duration": primitive(&core.Primitive{Value: &core.Primitive_Duration{Duration: &durationpb.Duration{Seconds: math.MaxInt64}}}),
		"no datetime":  primitive(&core.Primitive{Value: &core.Primitive_Datetime{}}),
	} {
		_, err := jsonOf("x", literal, 0)
		require.Error(t, err, name)
	}
	for _, s := range []map[string]any{
		nil, {"type": "nonsense"}, {"type": "array"}, {"type": "string", "enum": []any{1.0}}, {"oneOf": []any{1.0}},
		{"type": "object", "additionalProperties": map[string]any{}},
	} {
		given, err := structpb.NewStruct(s)
		require.NoError(t, err)
		_, err = Type(given)
		require.Error(t, err, s)
	}
	var deep, deepType any = map[string]any{"type": "null"}, simple(core.SimpleType_NONE)
	for range maxDepth + 1 {
		deep = map[string]any{"type": "array", "items": deep}
		deepType = &core.LiteralType{Type: &core.LiteralType_CollectionType{CollectionType: deepType.(*core.LiteralType)}}
	}
	s, err := structpb.NewStruct(deep.(map[string]any))
	require.NoError(t, err)
	_, err = Type(s)
	require.ErrorContains(t, err, "too deep")
	_, err = Schema(deepType.(*core.LiteralType))
	require.ErrorContains(t, err, "too deep")
	require.ErrorIs(t, unsupported("x", "a schema"), ErrUnsupported)
}
