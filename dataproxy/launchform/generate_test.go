package launchform

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// anyType generates every type that a form can have.
func anyType(depth int) *rapid.Generator[*core.LiteralType] {
	return rapid.Custom(func(t *rapid.T) *core.LiteralType {
		kinds := 7
		if depth == 0 {
			kinds = 3
		}
		switch rapid.IntRange(0, kinds).Draw(t, "kind") {
		case 0:
			if rapid.Bool().Draw(t, "dataclass") {
				return pointType(t)
			}
			return simple(core.SimpleType_STRUCT)
		default:
			return simple(rapid.SampledFrom([]core.SimpleType{
				core.SimpleType_NONE, core.SimpleType_INTEGER, core.SimpleType_FLOAT, core.SimpleType_STRING, core.SimpleType_BOOLEAN,
				core.SimpleType_DATETIME, core.SimpleType_DURATION, core.SimpleType_BINARY, core.SimpleType_STRUCT,
			}).Draw(t, "simple"))
		case 1:
			return &core.LiteralType{Type: &core.LiteralType_EnumType{EnumType: &core.EnumType{
				Values: rapid.SliceOfNDistinct(rapid.StringMatching(`[A-Z]{1,4}`), 1, 4, rapid.ID).Draw(t, "enum"),
			}}}
		case 2:
			return &core.LiteralType{Type: &core.LiteralType_Blob{Blob: &core.BlobType{
				Format:         rapid.StringMatching(`[a-z]{0,4}`).Draw(t, "format"),
				Dimensionality: core.BlobType_BlobDimensionality(rapid.IntRange(0, 1).Draw(t, "dimensionality")),
			}}}
		case 3:
			return &core.LiteralType{Type: &core.LiteralType_StructuredDatasetType{StructuredDatasetType: &core.StructuredDatasetType{
				Format: rapid.StringMatching(`[a-z]{0,7}`).Draw(t, "format"),
			}}}
		case 4:
			return &core.LiteralType{Type: &core.LiteralType_CollectionType{CollectionType: anyType(depth-1).Draw(t, "items")}}
		case 5:
			return &core.LiteralType{Type: &core.LiteralType_MapValueType{MapValueType: anyType(depth-1).Draw(t, "values")}}
		case 6:
			return &core.LiteralType{Type: &core.LiteralType_UnionType{UnionType: &core.UnionType{
				Variants: rapid.SliceOfN(anyType(depth-1), 1, 3).Draw(t, "variants"),
			}}}
		}
	})
}

// anyLiteral generates values of a type.
func anyLiteral(of *core.LiteralType) *rapid.Generator[*core.Literal] {
	return rapid.Custom(func(t *rapid.T) *core.Literal {
		literal := bareLiteral(of).Draw(t, "value")
		if rapid.IntRange(0, 9).Draw(t, "about") == 0 {
			literal.Hash = "of its content"
		}
		return literal
	})
}

func bareLiteral(of *core.LiteralType) *rapid.Generator[*core.Literal] {
	return rapid.Custom(func(t *rapid.T) *core.Literal {
		uri := "s3://b/" + rapid.StringMatching(`[a-z]{1,3}`).Draw(t, "uri")
		switch kind := of.GetType().(type) {
		case *core.LiteralType_Simple:
			if of.GetMetadata() != nil {
				return scalar(&core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{Value: packedFor(t, anyPoint().Draw(t, "point")), Tag: msgpackTag}}})
			}
			return anySimple(t, kind.Simple)
		case *core.LiteralType_EnumType:
			return primitive(&core.Primitive{Value: &core.Primitive_StringValue{StringValue: rapid.SampledFrom(kind.EnumType.GetValues()).Draw(t, "chosen")}})
		case *core.LiteralType_Blob:
			return scalar(&core.Scalar{Value: &core.Scalar_Blob{Blob: &core.Blob{Uri: uri, Metadata: &core.BlobMetadata{Type: kind.Blob}}}})
		case *core.LiteralType_StructuredDatasetType:
			return scalar(&core.Scalar{Value: &core.Scalar_StructuredDataset{StructuredDataset: &core.StructuredDataset{
				Uri: uri, Metadata: &core.StructuredDatasetMetadata{StructuredDatasetType: kind.StructuredDatasetType},
			}}})
		case *core.LiteralType_CollectionType:
			return &core.Literal{Value: &core.Literal_Collection{Collection: &core.LiteralCollection{
				Literals: rapid.SliceOfN(anyLiteral(kind.CollectionType), 0, 3).Draw(t, "items"),
			}}}
		case *core.LiteralType_MapValueType:
			return &core.Literal{Value: &core.Literal_Map{Map: &core.LiteralMap{
				Literals: rapid.MapOfN(rapid.StringMatching(`[a-z]{1,3}`), anyLiteral(kind.MapValueType), 0, 3).Draw(t, "fields"),
			}}}
		default:
			variant := rapid.SampledFrom(of.GetUnionType().GetVariants()).Draw(t, "variant")
			return union(anyLiteral(variant).Draw(t, "inner"), variant)
		}
	})
}

func anySimple(t *rapid.T, of core.SimpleType) *core.Literal {
	switch of {
	case core.SimpleType_INTEGER:
		return primitive(&core.Primitive{Value: &core.Primitive_Integer{Integer: rapid.Int64().Draw(t, "integer")}})
	case core.SimpleType_FLOAT:
		return primitive(&core.Primitive{Value: &core.Primitive_FloatValue{FloatValue: rapid.Float64().Draw(t, "float")}})
	case core.SimpleType_STRING:
		return primitive(&core.Primitive{Value: &core.Primitive_StringValue{StringValue: rapid.String().Draw(t, "string")}})
	case core.SimpleType_BOOLEAN:
		return primitive(&core.Primitive{Value: &core.Primitive_Boolean{Boolean: rapid.Bool().Draw(t, "boolean")}})
	case core.SimpleType_DATETIME:
		at := time.Unix(rapid.Int64Range(-62135596800, 253402300799).Draw(t, "seconds"), rapid.Int64Range(0, 999999999).Draw(t, "nanos"))
		return primitive(&core.Primitive{Value: &core.Primitive_Datetime{Datetime: timestamppb.New(at)}})
	case core.SimpleType_DURATION:
		d := durationpb.New(time.Duration(rapid.Int64().Draw(t, "duration")))
		d.Seconds *= rapid.Int64Range(1, 30).Draw(t, "times") // beyond Go's durations
		return primitive(&core.Primitive{Value: &core.Primitive_Duration{Duration: d}})
	case core.SimpleType_BINARY:
		binary := &core.Binary{Value: rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(t, "bytes"), Tag: rapid.SampledFrom([]string{"", "pickle", "msgpack"}).Draw(t, "tag")}
		if binary.GetTag() == msgpackTag {
			binary.Value = packedFor(t, anyPacked(2).Draw(t, "value"))
		}
		return scalar(&core.Scalar{Value: &core.Scalar_Binary{Binary: binary}})
	case core.SimpleType_STRUCT:
		if rapid.Bool().Draw(t, "packed") {
			return scalar(&core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{Value: packedFor(t, anyFields(2).Draw(t, "fields")), Tag: msgpackTag}}})
		}
		generic, err := structpb.NewStruct(map[string]any{
			"n": rapid.Float64Range(-1e6, 1e6).Draw(t, "n"), "s": rapid.StringMatching(`[a-z]*`).Draw(t, "s"), "l": []any{true, nil},
		})
		if err != nil {
			t.Fatal(err)
		}
		return scalar(&core.Scalar{Value: &core.Scalar_Generic{Generic: generic}})
	default:
		return none()
	}
}
