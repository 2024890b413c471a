package launchform

import (
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// Type is the type whose values a JSON schema made by Schema describes.
func Type(s *structpb.Struct) (*core.LiteralType, error) { return typeOf("type", s, 0) }

func typeOf(path string, s *structpb.Struct, depth int) (*core.LiteralType, error) {
	if depth > maxDepth {
		return nil, wrong(path, "the schema is nested too deep")
	}
	t, err := bareType(path, s, depth)
	if err != nil {
		return nil, err
	}
	if tag := text(field(s, "structure").GetStructValue(), "tag"); tag != "" {
		t.Structure = &core.TypeStructure{Tag: tag}
	}
	return t, nil
}

// bareType is the type without the tag that a variant of a union may have.
func bareType(path string, s *structpb.Struct, depth int) (*core.LiteralType, error) {
	if variants := field(s, "oneOf").GetListValue(); variants != nil {
		return unionType(path, variants, depth)
	}
	switch kind := text(s, "type"); kind {
	case "null":
		return simple(core.SimpleType_NONE), nil
	case "integer":
		return simple(core.SimpleType_INTEGER), nil
	case "number":
		return simple(core.SimpleType_FLOAT), nil
	case "boolean":
		return simple(core.SimpleType_BOOLEAN), nil
	case "string":
		return stringType(path, s)
	case "array":
		items, err := typeOf(path+"[]", field(s, "items").GetStructValue(), depth+1)
		return &core.LiteralType{Type: &core.LiteralType_CollectionType{CollectionType: items}}, err
	case "object":
		return objectType(path, s, depth)
	case "":
		return nil, wrong(path, "the schema has no type")
	default:
		return nil, wrong(path, "the type %q is not known", kind)
	}
}

func stringType(path string, s *structpb.Struct) (*core.LiteralType, error) {
	if values := field(s, "enum").GetListValue(); values != nil {
		enum := &core.EnumType{}
		for _, value := range values.GetValues() {
			if _, ok := value.GetKind().(*structpb.Value_StringValue); !ok {
				return nil, wrong(path, "the values of an enum are strings")
			}
			enum.Values = append(enum.Values, value.GetStringValue())
		}
		return &core.LiteralType{Type: &core.LiteralType_EnumType{EnumType: enum}}, nil
	}
	switch text(s, "format") {
	case formatDatetime, "date-time":
		return simple(core.SimpleType_DATETIME), nil
	case formatDuration:
		return simple(core.SimpleType_DURATION), nil
	case formatBinary:
		return simple(core.SimpleType_BINARY), nil
	case formatError:
		return simple(core.SimpleType_ERROR), nil
	default:
		return simple(core.SimpleType_STRING), nil
	}
}

func objectType(path string, s *structpb.Struct, depth int) (*core.LiteralType, error) {
	properties := field(s, "properties").GetStructValue()
	switch text(s, "format") {
	case formatBlob:
		dimensionality := text(field(properties, "dimensionality").GetStructValue(), "default")
		return &core.LiteralType{Type: &core.LiteralType_Blob{Blob: &core.BlobType{
			Format:         text(field(properties, "format").GetStructValue(), "default"),
			Dimensionality: core.BlobType_BlobDimensionality(core.BlobType_BlobDimensionality_value[dimensionality]),
		}}}, nil
	case formatDataset:
		return &core.LiteralType{Type: &core.LiteralType_StructuredDatasetType{StructuredDatasetType: &core.StructuredDatasetType{
			Format: text(field(properties, "format").GetStructValue(), "default"),
		}}}, nil
	}
	if values := field(s, "additionalProperties").GetStructValue(); values != nil {
		value, err := typeOf(path+"{}", values, depth+1)
		return &core.LiteralType{Type: &core.LiteralType_MapValueType{MapValueType: value}}, err
	}
	t := simple(core.SimpleType_STRUCT)
	if properties != nil {
		t.Metadata = proto.CloneOf(s)
		for _, name := range []string{"default", "description", "structure"} {
			delete(t.GetMetadata().GetFields(), name) // of the property, not of the type
		}
	}
	return t, nil
}

func unionType(path string, variants *structpb.ListValue, depth int) (*core.LiteralType, error) {
	// The path of a variant ends with | and its number.
	union := &core.UnionType{}
	for i, variant := range variants.GetValues() {
		t, err := typeOf(fmt.Sprintf("%s|%d", path, i), variant.GetStructValue(), depth+1)
		if err != nil {
			return nil, err
		}
		union.Variants = append(union.Variants, t)
	}
	return &core.LiteralType{Type: &core.LiteralType_UnionType{UnionType: union}}, nil
}

func simple(t core.SimpleType) *core.LiteralType {
	return &core.LiteralType{Type: &core.LiteralType_Simple{Simple: t}}
}

func field(s *structpb.Struct, name string) *structpb.Value { return s.GetFields()[name] }

func text(s *structpb.Struct, name string) string { return field(s, name).GetStringValue() }
