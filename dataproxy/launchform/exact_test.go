package launchform

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vmihailenco/msgpack/v5"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/test/proptest"
)

// entries is a map of msgpack in an order of its own.
type entries []entry

type entry struct{ key, value any }

var epoch = time.Unix(0, 0)

var errEncode = errors.New("cannot be encoded")

// EncodeMsgpack implements msgpack.CustomEncoder.
func (e entries) EncodeMsgpack(to *msgpack.Encoder) error {
	if to.EncodeMapLen(len(e)) != nil {
		return errEncode
	}
	for _, one := range e {
		if err := to.EncodeMulti(one.key, one.value); err != nil {
			return err
		}
	}
	return nil
}

func packedFor(t require.TestingT, value any) []byte {
	var body strings.Builder
	to := msgpack.NewEncoder(&body)
	to.UseCompactInts(true)
	require.NoError(t, to.Encode(value))
	return []byte(body.String())
}

// anyPacked generates what programs pack.
func anyPacked(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kinds := 8
		if depth == 0 {
			kinds = 6
		}
		switch rapid.IntRange(0, kinds).Draw(t, "kind") {
		case 0:
			return rapid.Int64().Draw(t, "integer")
		case 1:
			return rapid.Int64Range(-3, 3).Draw(t, "small")
		case 2:
			return float64(rapid.IntRange(-3, 3).Draw(t, "whole"))
		case 3:
			return rapid.Float64().Draw(t, "float")
		case 4:
			return rapid.SampledFrom([]string{"", "abcd", "1", "NaN", "9007199254740993", "2026-01-01T00:00:00Z"}).Draw(t, "text")
		case 5:
			return rapid.SliceOfN(rapid.Byte(), 0, 4).Draw(t, "bytes")
		case 6:
			return rapid.SampledFrom([]any{nil, true, false}).Draw(t, "other")
		case 7:
			return rapid.SliceOfN(anyPacked(depth-1), 0, 3).Draw(t, "list")
		default:
			return anyFields(depth-1).Draw(t, "fields")
		}
	})
}

func anyFields(depth int) *rapid.Generator[entries] {
	return rapid.Custom(func(t *rapid.T) (fields entries) {
		for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom([]any{"a", "b", "1", int64(1), int64(2), keyLiteral, keyShown}), 0, 4, rapid.ID).Draw(t, "keys") {
			fields = append(fields, entry{key, anyPacked(depth).Draw(t, "value")})
		}
		return fields
	})
}

// pointType is a dataclass as the SDK describes it.
func pointType(t require.TestingT) *core.LiteralType {
	text := map[string]any{"type": "string"}
	metadata, err := structpb.NewStruct(map[string]any{
		"type": "object", "title": "Point", "additionalProperties": false, "required": []any{"y", "x"},
		"$defs": map[string]any{"Inner": map[string]any{"type": "object", "properties": map[string]any{
			"f": map[string]any{"type": "number"}, "a": text,
		}}},
		"properties": map[string]any{
			"y": map[string]any{"type": "integer"}, "x": map[string]any{"type": "number"},
			"note":  map[string]any{"anyOf": []any{text, map[string]any{"type": "null"}}, "default": nil},
			"inner": map[string]any{"$ref": "#/$defs/Inner"},
			"sizes": map[string]any{"type": "array", "items": map[string]any{"type": "number"}},
			"bag":   map[string]any{"type": "object", "additionalProperties": map[string]any{"type": "integer"}},
		},
	})
	require.NoError(t, err)
	return &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_STRUCT}, Metadata: metadata, Structure: &core.TypeStructure{Tag: "Dataclass"}}
}

// anyPoint generates values of pointType, with their fields in any order.
func anyPoint() *rapid.Generator[entries] {
	return rapid.Custom(func(t *rapid.T) entries {
		whole := rapid.Map(rapid.IntRange(-2, 2), func(n int) float64 { return float64(n) })
		fields := entries{
			{"y", rapid.Int64().Draw(t, "y")},
			{"x", rapid.OneOf(whole, rapid.Float64()).Draw(t, "x")},
			{"note", rapid.SampledFrom([]any{nil, "1", "NaN"}).Draw(t, "note")},
			{"inner", entries{{"f", whole.Draw(t, "f")}, {"a", "1"}}},
			{"sizes", rapid.SliceOfN(whole, 0, 3).Draw(t, "sizes")},
			{"bag", rapid.SampledFrom([]entries{{}, {{"a", 1}, {"b", 2}}, {{"b", 2}, {"a", 1}}}).Draw(t, "bag")},
		}
		return rapid.Permutation(fields).Draw(t, "order")
	})
}

func valuesOf(form *structpb.Struct) *structpb.Struct {
	values := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for name, property := range field(form, "properties").GetStructValue().GetFields() {
		values.Fields[name] = property.GetStructValue().GetFields()["default"]
	}
	return values
}

// Whatever someone looks at in a form and sends back unchanged is the value that it was, in both ways of sending it back; or the
// form is refused with the reason.
func TestEveryValueSurvivesItsForm(t *testing.T) {
	refusals := 0
	proptest.Check(t, func(t *rapid.T) {
		of := anyType(3).Draw(t, "type")
		literal := anyLiteral(of).Draw(t, "literal")
		variables := variables(variable("x", of))
		form, err := Form(variables, map[string]*core.Literal{"x": literal})
		if err != nil {
			require.ErrorContains(t, err, "two keys of a map are both")
			refusals++
			return
		}
		for way, send := range map[string]func() ([]*task.NamedLiteral, error){
			"the form": func() ([]*task.NamedLiteral, error) { return FromForm(form) },
			"values":   func() ([]*task.NamedLiteral, error) { return FromValues(variables, valuesOf(form)) },
		} {
			back, err := send()
			require.NoError(t, err, way)
			require.Len(t, back, 1, way)
			require.True(t, proto.Equal(ordered(of, literal), ordered(of, back[0].GetValue())), "%s: %v\n%v\n%v", way, literal, back[0].GetValue(), form)
		}
	})
	require.Positive(t, refusals)
}

func packedLiteral(t *testing.T, value any) *core.Literal {
	t.Helper()
	return scalar(&core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{Value: packedFor(t, value), Tag: msgpackTag}}})
}

func listType(of *core.LiteralType) *core.LiteralType {
	return &core.LiteralType{Type: &core.LiteralType_CollectionType{CollectionType: of}}
}

func unionOf(variants ...*core.LiteralType) *core.LiteralType {
	return &core.LiteralType{Type: &core.LiteralType_UnionType{UnionType: &core.UnionType{Variants: variants}}}
}

// The values that a report named, each of which came back as another one.
func TestFormsGiveBackWhatTheyWereMadeFrom(t *testing.T) {
	integer, str, at := simple(core.SimpleType_INTEGER), simple(core.SimpleType_STRING), simple(core.SimpleType_DATETIME)
	one := primitive(&core.Primitive{Value: &core.Primitive_StringValue{StringValue: "1"}})
	texts := &core.Literal{Value: &core.Literal_Collection{Collection: &core.LiteralCollection{Literals: []*core.Literal{one}}}}
	for name, tc := range map[string]struct {
		of      *core.LiteralType
		literal *core.Literal
		// plain values need no literal.
		plain bool
	}{
		"pickle":               {simple(core.SimpleType_BINARY), scalar(&core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{Value: []byte{1}, Tag: "pickle"}}}), false},
		"bytes":                {simple(core.SimpleType_BINARY), scalar(&core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{Value: []byte{1}}}}), true},
		"packed text":          {simple(core.SimpleType_BINARY), packedLiteral(t, "abcd"), false},
		"packed number":        {simple(core.SimpleType_BINARY), packedLiteral(t, 7), true},
		"integer in a dict":    {simple(core.SimpleType_STRUCT), packedLiteral(t, entries{{"a", 1}}), true},
		"float in a dict":      {simple(core.SimpleType_STRUCT), packedLiteral(t, entries{{"a", 1.0}}), false},
		"order of a dict":      {simple(core.SimpleType_STRUCT), packedLiteral(t, entries{{"b", 1}, {"a", 1}}), false},
		"number as a key":      {simple(core.SimpleType_STRUCT), packedLiteral(t, entries{{1, "a"}}), false},
		"large integer":        {simple(core.SimpleType_STRUCT), packedLiteral(t, entries{{"a", int64(1<<53 + 1)}}), false},
		"dataclass":            {pointType(t), packedLiteral(t, entries{{"y", 1}, {"x", 2.0}, {"inner", entries{{"f", 3.0}, {"a", "1"}}}}), true},
		"large in a dataclass": {pointType(t), packedLiteral(t, entries{{"y", int64(1<<53 + 1)}, {"x", 2.0}}), true},
		"union of lists":       {unionOf(listType(integer), listType(str)), union(texts, listType(str)), true},
		"union of text and time": {unionOf(str, at), union(primitive(&core.Primitive{Value: &core.Primitive_Datetime{
			Datetime: timestamppb.New(epoch),
		}}), at), false},
		"300 years and a half second": {simple(core.SimpleType_DURATION), primitive(&core.Primitive{Value: &core.Primitive_Duration{
			Duration: &durationpb.Duration{Seconds: 300 * 365 * 86400, Nanos: 500_000_000},
		}}), true},
		"minus 300 years and a half second": {simple(core.SimpleType_DURATION), primitive(&core.Primitive{Value: &core.Primitive_Duration{
			Duration: &durationpb.Duration{Seconds: -300 * 365 * 86400, Nanos: -500_000_000},
		}}), true},
		"2^53": {integer, primitive(&core.Primitive{Value: &core.Primitive_Integer{Integer: 1 << 53}}), true},
	} {
		t.Run(name, func(t *testing.T) {
			variables := variables(variable("x", tc.of))
			form, err := Form(variables, map[string]*core.Literal{"x": tc.literal})
			require.NoError(t, err)
			back, err := FromValues(variables, valuesOf(form))
			require.NoError(t, err)
			require.True(t, proto.Equal(ordered(tc.of, tc.literal), ordered(tc.of, back[0].GetValue())), "%v", back)
			_, tagged := valuesOf(form).GetFields()["x"].GetStructValue().GetFields()[keyLiteral]
			require.Equal(t, tc.plain, !tagged, "%v", valuesOf(form))
		})
	}
	_, err := Form(variables(variable("x", simple(core.SimpleType_STRUCT))), map[string]*core.Literal{"x": packedLiteral(t, entries{{1, "a"}, {"1", "b"}})})
	require.ErrorContains(t, err, `inputs.x: the value is not msgpack: two keys of a map are both "1" in JSON`)
}

// An edited value counts, and not the literal alongside it.
func TestEditedValuesReplaceTheirLiterals(t *testing.T) {
	of := simple(core.SimpleType_STRUCT)
	shown, err := exactJSON("x", of, of, packedLiteral(t, entries{{"b", 1.0}, {"a", 1}}))
	require.NoError(t, err)
	value, ok := shown.(map[string]any)
	require.True(t, ok)
	require.Equal(t, map[string]any{"a": 1.0, "b": 1.0}, value[keyShown])
	value[keyShown] = map[string]any{"a": 2.0}
	edited, err := literalOf("x", of, value, 0)
	require.NoError(t, err)
	require.True(t, proto.Equal(packedLiteral(t, entries{{"a", 2}}), edited), "%v", edited)
	for name, tc := range map[string]struct {
		was, want any
		change    func(map[string]any)
	}{
		"one entry":       {entries{{"b", 1.0}, {"a", 1}}, entries{{"b", 1.0}, {"a", 5}}, func(v map[string]any) { v["a"] = 5.0 }},
		"a new entry":     {entries{{"b", 1.0}, {"a", 1}}, entries{{"b", 1.0}, {"a", 1}, {"0", 2}}, func(v map[string]any) { v["0"] = 2.0 }},
		"one entry less":  {entries{{"b", 1.0}, {"a", 1}}, entries{{"b", 1.0}}, func(v map[string]any) { delete(v, "a") }},
		"numbers as keys": {entries{{1, 2.0}, {2, "x"}}, entries{{1, 2.0}, {2, "y"}}, func(v map[string]any) { v["2"] = "y" }},
		"deep": {
			entries{{"l", []any{1.0, entries{{"x", []byte{1}}, {"y", 1}}}}}, entries{{"l", []any{1.0, entries{{"x", []byte{1}}, {"y", 2}}, 3}}},
			func(v map[string]any) { v["l"] = []any{1.0, map[string]any{"x": "AQ==", "y": 2.0}, 3.0} },
		},
		"another kind": {entries{{"a", 1.0}}, entries{{"a", []any{1}}}, func(v map[string]any) { v["a"] = []any{1.0} }},
	} {
		given, err := withLiteral("x", packedLiteral(t, tc.was))
		require.NoError(t, err)
		shown, ok := given.(map[string]any)[keyShown].(map[string]any)
		require.True(t, ok, name)
		tc.change(shown)
		edited, err := literalOf("x", of, given, 0)
		require.NoError(t, err, name)
		require.True(t, proto.Equal(packedLiteral(t, tc.want), edited), "%s: %x", name, edited.GetScalar().GetBinary().GetValue())
	}

	value[keyLiteral] = "%"
	_, err = literalOf("x", of, value, 0)
	require.ErrorContains(t, err, "x: $literal is not base64")
	value[keyLiteral] = "/w=="
	_, err = literalOf("x", of, value, 0)
	require.ErrorContains(t, err, "x: $literal is not a literal")
}

// JSON has 9007199254740993 and its reader 9007199254740992: no one knows which one was meant.
func TestWholeNumbersThatArriveChangedAreRefused(t *testing.T) {
	for _, of := range []*core.LiteralType{simple(core.SimpleType_INTEGER), simple(core.SimpleType_STRUCT), simple(core.SimpleType_BINARY), pointType(t)} {
		var value any = 9007199254740993.0
		if of.GetSimple() == core.SimpleType_STRUCT {
			value = map[string]any{"y": value}
		}
		_, err := literalOf("x", of, value, 0)
		require.ErrorContains(t, err, "a whole number of more than 2^53-1 arrives changed")
	}
	n, err := parseInteger("x", "9007199254740993")
	require.NoError(t, err)
	require.Equal(t, int64(9007199254740993), n)
	point, err := literalOf("x", pointType(t), map[string]any{"y": "9007199254740993", "x": 1.0, "note": "1"}, 0)
	require.NoError(t, err)
	require.True(t, proto.Equal(packedLiteral(t, entries{{"note", "1"}, {"x", 1.0}, {"y", int64(9007199254740993)}}), point), "%v", point)
}

// What a value could be by mistake is tried last, inside of lists and maps too.
func TestTextInAListIsNoNumber(t *testing.T) {
	integers, texts := listType(simple(core.SimpleType_INTEGER)), listType(simple(core.SimpleType_STRING))
	literal, err := literalOf("x", unionOf(integers, texts), []any{"1", "2"}, 0)
	require.NoError(t, err)
	require.True(t, proto.Equal(texts, literal.GetScalar().GetUnion().GetType()))
	literal, err = literalOf("x", unionOf(integers, simple(core.SimpleType_STRING)), []any{"1"}, 0)
	require.NoError(t, err)
	require.True(t, proto.Equal(integers, literal.GetScalar().GetUnion().GetType()), "text stands for large integers")
}

func TestSecondsInText(t *testing.T) {
	for text, want := range map[string]*durationpb.Duration{
		"9460800000.5": {Seconds: 9460800000, Nanos: 500_000_000}, "-0.000000001": {Nanos: -1}, "7": {Seconds: 7}, "-7": {Seconds: -7}, "7.": {Seconds: 7},
	} {
		d, err := parseDuration("x", text)
		require.NoError(t, err)
		require.True(t, proto.Equal(want, d), "%s: %v", text, d)
	}
	for _, text := range []string{"1.0000000001", "--1", ".", "-", "1.-5", "+1", "1.5.5", "99999999999999999999"} {
		_, err := parseDuration("x", text)
		require.Error(t, err, text)
	}
}
