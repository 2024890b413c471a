package launchform

import (
	"fmt"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// Formats and titles by which a schema is recognized.
const (
	formatFloat    = "float"
	formatDatetime = "datetime"
	formatDuration = "duration"
	formatBinary   = "binary"
	formatError    = "error"
	formatBlob     = "blob"
	formatDataset  = "structured-dataset"
	formatUnion    = "union"
	titleDataclass = "dataclass"
	titleForm      = "Launch Form"
)

// schema is a JSON schema under construction.
type schema = map[string]any

// Schema is the JSON schema of values of a type.
func Schema(t *core.LiteralType) (*structpb.Struct, error) {
	s, err := schemaOf("type", t, 0)
	if err != nil {
		return nil, err
	}
	return toStruct(s)
}

func schemaOf(path string, t *core.LiteralType, depth int) (schema, error) {
	if depth > maxDepth {
		return nil, wrong(path, "the type is nested too deep")
	}
	switch kind := t.GetType().(type) {
	case *core.LiteralType_Simple:
		return simpleSchema(path, kind.Simple, t)
	case *core.LiteralType_EnumType:
		return schema{"type": "string", "enum": list(kind.EnumType.GetValues())}, nil
	case *core.LiteralType_CollectionType:
		items, err := schemaOf(path+"[]", kind.CollectionType, depth+1)
		return schema{"type": "array", "items": items}, err
	case *core.LiteralType_MapValueType:
		values, err := schemaOf(path+"{}", kind.MapValueType, depth+1)
		return schema{"type": "object", "additionalProperties": values}, err
	case *core.LiteralType_Blob:
		return blobSchema(kind.Blob), nil
	case *core.LiteralType_StructuredDatasetType:
		return datasetSchema(kind.StructuredDatasetType), nil
	case *core.LiteralType_UnionType:
		return unionSchema(path, kind.UnionType, depth)
	case *core.LiteralType_Schema:
		return nil, wrong(path, "the type schema has no form")
	default:
		return nil, wrong(path, "the type is missing")
	}
}

func simpleSchema(path string, simple core.SimpleType, t *core.LiteralType) (schema, error) {
	switch simple {
	case core.SimpleType_NONE:
		return schema{"type": "null"}, nil
	case core.SimpleType_INTEGER:
		return schema{"type": "integer"}, nil
	case core.SimpleType_FLOAT:
		return schema{"type": "number", "format": formatFloat}, nil
	case core.SimpleType_STRING:
		return schema{"type": "string"}, nil
	case core.SimpleType_BOOLEAN:
		return schema{"type": "boolean"}, nil
	case core.SimpleType_DATETIME:
		return schema{"type": "string", "format": formatDatetime}, nil
	case core.SimpleType_DURATION:
		return schema{"type": "string", "format": formatDuration}, nil
	case core.SimpleType_BINARY:
		return schema{"type": "string", "format": formatBinary}, nil
	case core.SimpleType_ERROR:
		return schema{"type": "string", "format": formatError}, nil
	case core.SimpleType_STRUCT:
		return structSchema(t.GetMetadata()), nil
	default:
		return nil, wrong(path, "simple type %d is not known", simple)
	}
}

// structSchema is the schema that the type carries, marked as generated here. It leaves out the keywords by which
// objectType would take it for a map, a blob or a dataset, and the default, which belongs to the property.
func structSchema(metadata *structpb.Struct) schema {
	if len(metadata.GetFields()) == 0 {
		return schema{"type": "object"}
	}
	s := metadata.AsMap()
	delete(s, "additionalProperties")
	delete(s, "default")
	delete(s, "format")
	s["type"], s["title"] = "object", titleDataclass
	return s
}

func blobSchema(t *core.BlobType) schema {
	return schema{"type": "object", "format": formatBlob, "properties": schema{
		"uri":    schema{"type": "string"},
		"format": schema{"type": "string", "default": t.GetFormat()},
		"dimensionality": schema{
			"type": "string", "default": t.GetDimensionality().String(),
			"enum": []any{core.BlobType_SINGLE.String(), core.BlobType_MULTIPART.String()},
		},
	}}
}

func datasetSchema(t *core.StructuredDatasetType) schema {
	format := schema{"type": "string"}
	if t.GetFormat() != "" {
		format["default"] = t.GetFormat()
	}
	return schema{"type": "object", "format": formatDataset, "properties": schema{
		"uri": schema{"type": "string"}, "format": format,
	}}
}

func unionSchema(path string, t *core.UnionType, depth int) (schema, error) {
	variants := make([]any, 0, len(t.GetVariants()))
	for i, variant := range t.GetVariants() {
		s, err := schemaOf(fmt.Sprintf("%s|%d", path, i), variant, depth+1)
		if err != nil {
			return nil, err
		}
		if _, ok := s["title"]; !ok {
			s["title"] = variantTitle(variant)
		}
		if tag := variant.GetStructure().GetTag(); tag != "" {
			s["structure"] = schema{"tag": tag}
		}
		variants = append(variants, s)
	}
	return schema{"oneOf": variants, "format": formatUnion}, nil
}

// variantTitle names a variant for a person.
func variantTitle(t *core.LiteralType) string {
	switch kind := t.GetType().(type) {
	case *core.LiteralType_Simple:
		return simpleTitles[kind.Simple]
	case *core.LiteralType_EnumType:
		return "enum"
	case *core.LiteralType_CollectionType:
		return "list"
	case *core.LiteralType_MapValueType:
		return "map"
	case *core.LiteralType_Blob:
		return formatBlob
	case *core.LiteralType_StructuredDatasetType:
		return formatDataset
	default:
		return formatUnion
	}
}

var simpleTitles = map[core.SimpleType]string{
	core.SimpleType_NONE: "none", core.SimpleType_INTEGER: "integer", core.SimpleType_FLOAT: "float",
	core.SimpleType_STRING: "string", core.SimpleType_BOOLEAN: "boolean", core.SimpleType_DATETIME: "datetime",
	core.SimpleType_DURATION: "duration", core.SimpleType_BINARY: "binary", core.SimpleType_ERROR: "error",
	core.SimpleType_STRUCT: "struct",
}

func list[T any](values []T) []any {
	result := make([]any, len(values))
	for i, value := range values {
		result[i] = value
	}
	return result
}

// toStruct also refuses what JSON cannot hold, such as text that is not UTF-8.
func toStruct(s schema) (*structpb.Struct, error) {
	result, err := structpb.NewStruct(s)
	if err != nil {
		return nil, wrong("form", "%v", err)
	}
	return result, nil
}
