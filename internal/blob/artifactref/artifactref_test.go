package artifactref_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/artifactref"
)

func file(uri string) *core.Literal {
	return &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Blob{Blob: &core.Blob{Uri: uri}}}}}
}

func list(items ...*core.Literal) *core.Literal {
	return &core.Literal{Value: &core.Literal_Collection{Collection: &core.LiteralCollection{Literals: items}}}
}

func named(l *core.Literal, name string) *core.Literal {
	l.ArtifactId = &core.ArtifactVersionId{Key: &core.ArtifactKey{Name: name}, Version: "1"}
	return l
}

func inputs(values ...*core.Literal) (all []*task.NamedLiteral) {
	for _, value := range values {
		all = append(all, &task.NamedLiteral{Value: value})
	}
	return all
}

func TestDataLeavesOutValuesWithAnIdentity(t *testing.T) {
	t.Parallel()
	values := inputs(file("a"), list(file("b"), named(file("c"), "c"), file("a"), file("")), named(list(file("d")), "d"))
	require.Equal(t, []string{"a", "b"}, artifactref.Data(values))
	require.Equal(t, []artifactref.Version{{Name: "c", Version: "1"}, {Name: "d", Version: "1"}}, artifactref.Uses(values))
	require.Equal(t, []string{"d"}, artifactref.URIs(values[2].GetValue()))
}

func TestDataIsBounded(t *testing.T) {
	t.Parallel()
	var many []*core.Literal
	for i := range artifactref.MaxData + 1 {
		many = append(many, file(strconv.Itoa(i)))
	}
	require.Len(t, artifactref.Data(inputs(list(many...))), artifactref.MaxData)
}

func TestTypesThatMayPointToObjects(t *testing.T) {
	t.Parallel()
	number := &core.LiteralType{Type: &core.LiteralType_Simple{Simple: core.SimpleType_INTEGER}}
	blob := &core.LiteralType{Type: &core.LiteralType_Blob{}}
	table := &core.LiteralType{Type: &core.LiteralType_StructuredDatasetType{}}
	listOf := func(of *core.LiteralType) *core.LiteralType {
		return &core.LiteralType{Type: &core.LiteralType_CollectionType{CollectionType: of}}
	}
	mapOf := func(of *core.LiteralType) *core.LiteralType {
		return &core.LiteralType{Type: &core.LiteralType_MapValueType{MapValueType: of}}
	}
	oneOf := func(variants ...*core.LiteralType) *core.LiteralType {
		return &core.LiteralType{Type: &core.LiteralType_UnionType{UnionType: &core.UnionType{Variants: variants}}}
	}
	for _, with := range []*core.LiteralType{blob, table, listOf(blob), mapOf(listOf(table)), oneOf(number, blob)} {
		require.True(t, artifactref.HasData(with), with)
	}
	deep := number
	for range 1000 {
		deep = listOf(deep)
	}
	for _, without := range []*core.LiteralType{nil, {}, number, listOf(number), mapOf(number), oneOf(number, number), deep} {
		require.False(t, artifactref.HasData(without), without)
	}
}
