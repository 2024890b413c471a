package lineage_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/runs/lineage"
)

var begin = time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC)

func scalar(s *core.Scalar) *core.Literal {
	return &core.Literal{Value: &core.Literal_Scalar{Scalar: s}}
}

func text(value string) *core.Literal {
	return scalar(&core.Scalar{Value: &core.Scalar_Primitive{Primitive: &core.Primitive{Value: &core.Primitive_StringValue{StringValue: value}}}})
}

func number(value int64) *core.Literal {
	return scalar(&core.Scalar{Value: &core.Scalar_Primitive{Primitive: &core.Primitive{Value: &core.Primitive_Integer{Integer: value}}}})
}

func file(uri string) *core.Literal {
	return scalar(&core.Scalar{Value: &core.Scalar_Blob{Blob: &core.Blob{Uri: uri}}})
}

func frame(uri string) *core.Literal {
	return scalar(&core.Scalar{Value: &core.Scalar_StructuredDataset{StructuredDataset: &core.StructuredDataset{Uri: uri}}})
}

func offloaded(uri string) *core.Literal {
	return &core.Literal{Value: &core.Literal_OffloadedMetadata{OffloadedMetadata: &core.LiteralOffloadedMetadata{Uri: uri}}}
}

func packed(body string) *core.Literal {
	return scalar(&core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{Value: []byte(body), Tag: "msgpack"}}})
}

func object(t *testing.T, fields map[string]any) *core.Literal {
	t.Helper()
	s, err := structpb.NewStruct(fields)
	require.NoError(t, err)
	return scalar(&core.Scalar{Value: &core.Scalar_Generic{Generic: s}})
}

func list(parts ...*core.Literal) *core.Literal {
	return &core.Literal{Value: &core.Literal_Collection{Collection: &core.LiteralCollection{Literals: parts}}}
}

func maybe(part *core.Literal) *core.Literal {
	return scalar(&core.Scalar{Value: &core.Scalar_Union{Union: &core.Union{Value: part}}})
}

func dict(parts map[string]*core.Literal) *core.Literal {
	return &core.Literal{Value: &core.Literal_Map{Map: &core.LiteralMap{Literals: parts}}}
}

func named(literals ...*core.Literal) (out []*task.NamedLiteral) {
	for i, literal := range literals {
		out = append(out, &task.NamedLiteral{Name: fmt.Sprintf("v%d", i), Value: literal})
	}
	return out
}

// at is an action that was recorded in the second of its id and ended a second later.
func at(id int64, name string) lineage.Action {
	created := begin.Add(time.Duration(id) * 20 * time.Second)
	return lineage.Action{ID: id, Name: name, Created: created, Ended: created.Add(time.Second)}
}

func shown(g *lineage.Graph) []string {
	edges, _ := g.Edges()
	out := make([]string, 0, len(edges))
	for _, edge := range edges {
		out = append(out, edge.From+">"+edge.To+"."+edge.Variable)
	}
	slices.Sort(out)
	return out
}

func TestWhichLiteralsHaveKeys(t *testing.T) {
	long := strings.Repeat("long ", 8)
	for name, value := range map[string]*core.Literal{
		"a file":          file("s3://b/x"),
		"a data frame":    frame("s3://b/y"),
		"offloaded":       offloaded("s3://b/z"),
		"a long text":     text(long),
		"a packed object": packed(long),
		"an object":       object(t, map[string]any{"a": 1.0, "b": long, "c": []any{true}}),
		"a list":          list(number(1), number(2), number(3), number(4), number(5), number(6), number(7), number(8)),
		"a list of files": list(file("s3://b/1"), file("s3://b/2")),
		"an optional":     maybe(file("s3://b/x")),
	} {
		t.Run(name, func(t *testing.T) {
			g := lineage.New()
			noted := &core.Literal{Value: value.GetValue(), Hash: "h", Metadata: map[string]string{"k": "v"}}
			g.Add(at(1, "a"), nil, named(number(1), value))
			g.Add(at(2, "b"), named(number(1), noted), nil)
			require.Equal(t, []string{"a>b.v1"}, shown(g))
		})
	}
	for name, value := range map[string]*core.Literal{
		"a number": number(7), "a short text": text("short"), "a small object": packed("{}"), "nothing": nil, "an empty file": file(""),
	} {
		t.Run(name, func(t *testing.T) {
			g := lineage.New()
			g.Add(at(1, "a"), nil, named(value))
			g.Add(at(2, "b"), named(value), nil)
			require.Empty(t, shown(g))
		})
	}
}

func TestCollectionsHaveTheKeysOfTheirParts(t *testing.T) {
	g := lineage.New()
	g.Add(at(1, "a"), nil, named(file("s3://a"), list(file("s3://a1"), file("s3://a2"))))
	g.Add(at(2, "b"), nil, named(file("s3://b")))
	g.Add(at(3, "gathers"), named(list(file("s3://a"), file("s3://b"))), nil)
	g.Add(at(4, "picks"), named(number(0), maybe(file("s3://a2"))), nil)
	g.Add(at(5, "maps"), named(dict(map[string]*core.Literal{"x": file("s3://b"), "y": file("s3://b")})), nil)
	require.Equal(t, []string{"a>gathers.v0", "a>picks.v1", "b>gathers.v0", "b>maps.v0"}, shown(g))
}

// A data frame that the parent copied on the way keeps its name.
func TestCopiedDataFrameKeepsItsName(t *testing.T) {
	const name = "c5b03a90240386a6c952966279127e8b"
	g := lineage.New()
	g.Add(at(1, "a"), nil, named(frame("s3://b/a/1/"+name)))
	g.Add(at(2, "b"), nil, named(frame("s3://b/b/1/part-0.parquet")))
	g.Add(at(3, "takes"), named(frame("s3://b/a0/1/9a52b1b1229f/"+name), frame("s3://b/a0/1/9a52b1b1229f/part-0.parquet")), nil)
	require.Equal(t, []string{"a>takes.v0"}, shown(g))
}

func TestProducerOfAnEqualValue(t *testing.T) {
	g := lineage.New()
	g.Add(at(1, "early"), nil, named(text("the same long text")))
	g.Add(at(2, "later"), nil, named(text("the same long text")))
	g.Add(at(3, "passes"), named(text("the same long text")), named(text("the same long text")))
	g.Add(at(4, "takes"), named(text("the same long text")), nil)
	latest := at(5, "too late")
	g.Add(latest, nil, named(text("the same long text")))
	require.Equal(t, []string{"later>passes.v0", "later>takes.v0"}, shown(g))

	// An action that is unfinished, or ended after the other had started, produced nothing for it.
	g = lineage.New()
	slow, open := at(1, "slow"), at(2, "open")
	slow.Ended, open.Ended = slow.Ended.Add(time.Hour), time.Time{}
	g.Add(slow, nil, named(file("s3://x")))
	g.Add(open, nil, named(file("s3://x")))
	g.Add(at(3, "takes"), named(file("s3://x")), nil)
	require.Empty(t, shown(g))
}

func TestBounds(t *testing.T) {
	g := lineage.New()
	files := make([]*core.Literal, 0, 120)
	for i := range cap(files) {
		uri := fmt.Sprintf("s3://%d", i)
		g.Add(at(int64(i), uri), nil, named(file(uri)))
		files = append(files, file(uri))
	}
	for i := range 100 {
		g.Add(at(int64(1000+i), fmt.Sprint(i)), named(list(files...)), nil)
	}
	edges, more := g.Edges()
	require.True(t, more)
	require.Len(t, edges, lineage.MaxEdges)

	deep := file("s3://deep")
	for range 1000 {
		deep = list(deep)
	}
	g.Add(at(5000, "deep"), named(deep), named(deep))
}
