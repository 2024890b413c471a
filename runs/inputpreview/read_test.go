package inputpreview_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/values/msgpackjson"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/inputpreview"
)

// object is one object, which counts what is read of it.
type object struct {
	body  []byte
	err   error
	opens int
	read  int
}

func (o *object) NewReader(context.Context, string) (io.ReadCloser, error) {
	o.opens++
	if o.err != nil {
		return nil, o.err
	}
	return &counting{Reader: bytes.NewReader(o.body), of: o}, nil
}

type counting struct {
	*bytes.Reader
	of *object
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.of.read += n
	return n, err
}

func (*counting) Close() error { return nil }

func preview(t *testing.T, inputs ...*task.NamedLiteral) inputpreview.Preview {
	t.Helper()
	body, err := proto.Marshal(&task.Inputs{Literals: inputs, Context: []*core.KeyValuePair{{Key: "k", Value: "v"}}})
	require.NoError(t, err)
	p, err := inputpreview.NewReader(&object{body: body}).Read(t.Context(), 1, "/inputs.pb")
	require.NoError(t, err)
	require.False(t, p.Missing)
	return p
}

func scalar(s *core.Scalar) *core.Literal {
	return &core.Literal{Value: &core.Literal_Scalar{Scalar: s}}
}

func primitive(p *core.Primitive) *core.Literal {
	return scalar(&core.Scalar{Value: &core.Scalar_Primitive{Primitive: p}})
}

func text(value string) *core.Literal {
	return primitive(&core.Primitive{Value: &core.Primitive_StringValue{StringValue: value}})
}

func whole(value int64) *core.Literal {
	return primitive(&core.Primitive{Value: &core.Primitive_Integer{Integer: value}})
}

func packed(t *testing.T, value any) *core.Literal {
	t.Helper()
	body, err := msgpackjson.Encode(value)
	require.NoError(t, err)
	return scalar(&core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{Value: body, Tag: "msgpack"}}})
}

func TestValuesAreShortTexts(t *testing.T) {
	fields, err := structpb.NewStruct(map[string]any{"depth": 3, "inner": map[string]any{"a": []any{1, "b"}}})
	require.NoError(t, err)
	blob := scalar(&core.Scalar{Value: &core.Scalar_Blob{Blob: &core.Blob{Uri: "s3://bucket/a/part-7.csv"}}})
	table := scalar(&core.Scalar{Value: &core.Scalar_StructuredDataset{StructuredDataset: &core.StructuredDataset{Uri: "/data/rows/"}}})
	list := &core.Literal{Value: &core.Literal_Collection{Collection: &core.LiteralCollection{Literals: []*core.Literal{whole(1), whole(2)}}}}
	inner := &core.Literal{Value: &core.Literal_Map{Map: &core.LiteralMap{Literals: map[string]*core.Literal{"y": whole(2)}}}}
	pairs := &core.Literal{Value: &core.Literal_Map{Map: &core.LiteralMap{Literals: map[string]*core.Literal{"x": text("one"), "inner": inner}}}}
	for _, c := range []struct {
		value *core.Literal
		want  string
	}{
		{text("emea"), "x=emea TEXT"},
		{text("two\nlines\tand \u202e\x00 more"), "x=two lines and more TEXT"},
		{text(""), "x= TEXT"},
		{text("東京🗼"), "x=東京🗼 TEXT"},
		{text(strings.Repeat("é", 60) + "/part-7.csv"), "x=" + strings.Repeat("é", 21) + "…" + strings.Repeat("é", 31) + "/part-7.csv TEXT"},
		{whole(7), "x=7 UNSPECIFIED"},
		{primitive(&core.Primitive{Value: &core.Primitive_FloatValue{FloatValue: 0.1}}), "x=0.1 UNSPECIFIED"},
		{primitive(&core.Primitive{Value: &core.Primitive_Boolean{Boolean: true}}), "x=true UNSPECIFIED"},
		{primitive(&core.Primitive{Value: &core.Primitive_Datetime{Datetime: timestamppb.New(time.Unix(0, 0))}}), "x=1970-01-01T00:00:00Z UNSPECIFIED"},
		{primitive(&core.Primitive{Value: &core.Primitive_Duration{Duration: durationpb.New(90 * time.Second)}}), "x=1m30s UNSPECIFIED"},
		{scalar(&core.Scalar{Value: &core.Scalar_NoneType{NoneType: &core.Void{}}}), "x=none UNSPECIFIED"},
		{scalar(&core.Scalar{Value: &core.Scalar_Union{Union: &core.Union{Value: text("inside")}}}), "x=inside TEXT"},
		{scalar(&core.Scalar{Value: &core.Scalar_Generic{Generic: fields}}), `x.depth=3 UNSPECIFIED, x.inner={"a":[1,"b"]} UNSPECIFIED`},
		{scalar(&core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{Value: make([]byte, 12), Tag: "other"}}}), "x=12 bytes UNSPECIFIED"},
		{scalar(&core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{Value: []byte{0xc1}, Tag: "msgpack"}}}), "x=1 bytes UNSPECIFIED"},
		{packed(t, map[string]any{"lr": 0.1, "name": "adam", "off": nil}), "x.lr=0.1 UNSPECIFIED, x.name=adam TEXT, x.off=none UNSPECIFIED"},
		{packed(t, []any{1, "b"}), `x=[1,"b"] UNSPECIFIED`},
		{packed(t, math.Inf(1)), "x=+Inf UNSPECIFIED"},
		{blob, "x=part-7.csv STORED"},
		{table, "x=rows STORED"},
		{&core.Literal{Value: &core.Literal_OffloadedMetadata{OffloadedMetadata: &core.LiteralOffloadedMetadata{Uri: "/data/big"}}}, "x=big STORED"},
		{list, "x=[1,2] UNSPECIFIED"},
		{pairs, `x.inner={"y":"2"} UNSPECIFIED, x.x=one TEXT`},
		{&core.Literal{}, "and more"},
		{nil, "and more"},
	} {
		p := preview(t, &task.NamedLiteral{Name: "x", Value: c.value})
		words := []string{}
		for _, input := range p.Inputs {
			require.LessOrEqual(t, utf8.RuneCountInString(input.GetValue()), 64)
			words = append(words, fmt.Sprintf("%s=%s %s", input.GetName(), input.GetValue(), strings.TrimPrefix(input.GetKind().String(), "INPUT_KIND_")))
		}
		if p.Truncated {
			words = append(words, "and more")
		}
		require.Equal(t, c.want, strings.Join(words, ", "))
	}
}

func TestReadsAreBounded(t *testing.T) {
	inputs := &task.Inputs{}
	for i := range 10_000 {
		inputs.Literals = append(inputs.Literals, &task.NamedLiteral{Name: fmt.Sprint("x", i), Value: text(strings.Repeat("y", 1000))})
	}
	body, err := proto.Marshal(inputs)
	require.NoError(t, err)
	large := &object{body: body}
	reader := inputpreview.NewReader(large)
	for range 3 {
		p, err := reader.Read(t.Context(), 1, "/inputs.pb")
		require.NoError(t, err)
		require.Len(t, p.Inputs, 32)
		require.True(t, p.Truncated)
	}
	require.Equal(t, 1, large.opens, "inputs do not change")
	require.LessOrEqual(t, large.read, 64<<10+1)

	many := map[string]any{}
	for i := range 10_000 {
		many[fmt.Sprint("k", i)] = i
	}
	p := preview(t, &task.NamedLiteral{Name: "config", Value: packed(t, many)})
	require.True(t, p.Truncated, "it is larger than what is read")
	delete(many, "k0")
	for i := range 9_900 {
		delete(many, fmt.Sprint("k", i))
	}
	p = preview(t, &task.NamedLiteral{Name: "config", Value: packed(t, many)}, &task.NamedLiteral{Name: "last", Value: whole(1)})
	require.Len(t, p.Inputs, 32)
	require.True(t, p.Truncated)
	p = preview(t, &task.NamedLiteral{Name: strings.Repeat("n", 500), Value: whole(1)})
	require.Equal(t, 64, utf8.RuneCountInString(p.Inputs[0].GetName()))
	require.False(t, p.Truncated)
}

func TestAStoreThatDoesNotAnswerIsAnError(t *testing.T) {
	down := &object{err: errors.New("connection refused")}
	reader := inputpreview.NewReader(down)
	_, err := reader.Read(t.Context(), 1, "/inputs.pb")
	require.Equal(t, rpc.KindUnavailable, rpc.KindOf(err))
	p, err := reader.Read(t.Context(), 1, "")
	require.NoError(t, err)
	require.Empty(t, p)
	require.Equal(t, 1, down.opens)
}

func FuzzPreview(f *testing.F) {
	body, err := proto.Marshal(&task.Inputs{Literals: []*task.NamedLiteral{{Name: "x", Value: text("y")}, {Name: "n", Value: whole(1)}}})
	require.NoError(f, err)
	f.Add(body)
	f.Add(body[:5])
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := inputpreview.NewReader(&object{body: body}).Read(t.Context(), 1, "/inputs.pb")
		require.NoError(t, err)
		require.LessOrEqual(t, len(p.Inputs), 32)
		_, err = proto.Marshal(&insightv1.ActionDescription{Inputs: p.Inputs}) // refuses texts that are not UTF-8
		require.NoError(t, err)
	})
}
