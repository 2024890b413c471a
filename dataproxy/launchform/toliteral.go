package launchform

import (
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// literalOf converts a JSON value to a literal of a type.
func literalOf(path string, t *core.LiteralType, value any, depth int) (*core.Literal, error) {
	if depth > maxDepth {
		return nil, wrong(path, "the value is nested too deep")
	}
	literal, value, err := givenLiteral(path, t, value)
	if literal != nil || err != nil {
		return literal, err
	}
	switch kind := t.GetType().(type) {
	case *core.LiteralType_Simple:
		return simpleLiteral(path, t, value)
	case *core.LiteralType_EnumType:
		chosen, ok := value.(string)
		if !ok || !slices.Contains(kind.EnumType.GetValues(), chosen) {
			return nil, wrong(path, "must be one of %q", kind.EnumType.GetValues())
		}
		return primitive(&core.Primitive{Value: &core.Primitive_StringValue{StringValue: chosen}}), nil
	case *core.LiteralType_CollectionType:
		return collectionLiteral(path, kind.CollectionType, value, depth)
	case *core.LiteralType_MapValueType:
		return mapLiteral(path, kind.MapValueType, value, depth)
	case *core.LiteralType_Blob:
		return blobLiteral(path, kind.Blob, value)
	case *core.LiteralType_StructuredDatasetType:
		return datasetLiteral(path, kind.StructuredDatasetType, value)
	case *core.LiteralType_UnionType:
		return unionLiteral(path, kind.UnionType, value, depth)
	case *core.LiteralType_Schema:
		return nil, unsupported(path, "a schema")
	default:
		return nil, wrong(path, "the type is missing")
	}
}

func collectionLiteral(path string, t *core.LiteralType, value any, depth int) (*core.Literal, error) {
	items, ok := value.([]any)
	if !ok {
		return nil, wrong(path, "must be a list")
	}
	collection := &core.LiteralCollection{Literals: make([]*core.Literal, len(items))}
	for i, item := range items {
		var err error
		if collection.Literals[i], err = literalOf(at(path, i), t, item, depth+1); err != nil {
			return nil, err
		}
	}
	return &core.Literal{Value: &core.Literal_Collection{Collection: collection}}, nil
}

func mapLiteral(path string, t *core.LiteralType, value any, depth int) (*core.Literal, error) {
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, wrong(path, "must be an object")
	}
	literals := make(map[string]*core.Literal, len(fields))
	for _, key := range sortedKeys(fields) {
		var err error
		if literals[key], err = literalOf(path+"."+key, t, fields[key], depth+1); err != nil {
			return nil, err
		}
	}
	return &core.Literal{Value: &core.Literal_Map{Map: &core.LiteralMap{Literals: literals}}}, nil
}

func blobLiteral(path string, t *core.BlobType, value any) (*core.Literal, error) {
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, wrong(path, "must be an object with uri, format and dimensionality")
	}
	uri, ok := fields["uri"].(string)
	if !ok || uri == "" {
		return nil, wrong(path+".uri", "is required")
	}
	result := &core.BlobType{Format: t.GetFormat(), Dimensionality: t.GetDimensionality()}
	if given, ok := fields["format"]; ok && given != nil {
		if result.Format, ok = given.(string); !ok {
			return nil, wrong(path+".format", "must be a string")
		}
	}
	if given, ok := fields["dimensionality"]; ok && given != nil {
		name, _ := given.(string)
		number, known := core.BlobType_BlobDimensionality_value[name]
		if !known {
			return nil, wrong(path+".dimensionality", "must be SINGLE or MULTIPART")
		}
		result.Dimensionality = core.BlobType_BlobDimensionality(number)
	}
	return scalar(&core.Scalar{Value: &core.Scalar_Blob{Blob: &core.Blob{
		Uri: uri, Metadata: &core.BlobMetadata{Type: result},
	}}}), nil
}

func datasetLiteral(path string, t *core.StructuredDatasetType, value any) (*core.Literal, error) {
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, wrong(path, "must be an object with uri and format")
	}
	uri, hasURI := fields["uri"].(string)
	format, hasFormat := fields["format"].(string)
	switch {
	case !hasURI || uri == "":
		return nil, wrong(path+".uri", "is required")
	case !hasFormat:
		return nil, wrong(path+".format", "is required")
	}
	return scalar(&core.Scalar{Value: &core.Scalar_StructuredDataset{StructuredDataset: &core.StructuredDataset{
		Uri: uri, Metadata: &core.StructuredDatasetMetadata{StructuredDatasetType: &core.StructuredDatasetType{
			Columns: t.GetColumns(), Format: format,
			ExternalSchemaType: t.GetExternalSchemaType(), ExternalSchemaBytes: t.GetExternalSchemaBytes(),
		}},
	}}}), nil
}

// unionLiteral takes the first variant that fits, those first that the value fits as it is. null is none where the union
// has it.
func unionLiteral(path string, t *core.UnionType, value any, depth int) (*core.Literal, error) {
	var reasons []error
	for _, loose := range []bool{false, true} {
		for _, variant := range t.GetVariants() {
			if value == nil && !isNone(variant) || fitsLoosely(variant, value) != loose {
				continue
			}
			inner, err := literalOf(path, variant, value, depth+1)
			if err == nil {
				return union(inner, variant), nil
			}
			reasons = append(reasons, err)
		}
	}
	if len(reasons) == 1 {
		return nil, reasons[0]
	}
	return nil, wrong(path, "the value fits none of the %d variants", len(t.GetVariants()))
}

// fitsLoosely reports values that a type accepts for convenience but that, in a union, rather belong to another: text
// for a number, and a dataset's object for a blob. Of lists and maps, one such item suffices.
func fitsLoosely(t *core.LiteralType, value any) bool {
	switch kind := t.GetType().(type) {
	case *core.LiteralType_Simple:
		_, isText := value.(string)
		return isText && (kind.Simple == core.SimpleType_INTEGER || kind.Simple == core.SimpleType_FLOAT)
	case *core.LiteralType_Blob:
		fields, _ := value.(map[string]any)
		_, ok := fields["dimensionality"]
		return !ok
	case *core.LiteralType_CollectionType:
		items, _ := value.([]any)
		return slices.ContainsFunc(items, func(item any) bool { return fitsLoosely(kind.CollectionType, item) })
	case *core.LiteralType_MapValueType:
		fields, _ := value.(map[string]any)
		for _, item := range fields {
			if fitsLoosely(kind.MapValueType, item) {
				return true
			}
		}
		return false
	default:
		return false
	}
}

// structLiteral packs an object as clients do: a generic struct of protobuf would make every number a float.
func structLiteral(path string, s shape, value any) (*core.Literal, error) {
	if _, ok := value.(map[string]any); !ok {
		return nil, wrong(path, "must be an object")
	}
	return packed(path, s, value)
}

func packed(path string, s shape, value any) (*core.Literal, error) {
	body, err := packMsgpack(path, s, value)
	if err != nil {
		return nil, err
	}
	return scalar(&core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{Value: body, Tag: msgpackTag}}}), nil
}

// binaryLiteral takes base64; anything else is a value to be packed.
func binaryLiteral(path string, value any) (*core.Literal, error) {
	if encoded, ok := value.(string); ok {
		if decoded, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			return scalar(&core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{Value: decoded}}}), nil
		}
	}
	return packed(path, shape{}, value)
}

// at is the path of an item.
func at(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

func isNone(t *core.LiteralType) bool {
	kind, ok := t.GetType().(*core.LiteralType_Simple)
	return ok && kind.Simple == core.SimpleType_NONE
}

func scalar(s *core.Scalar) *core.Literal {
	return &core.Literal{Value: &core.Literal_Scalar{Scalar: s}}
}

func primitive(p *core.Primitive) *core.Literal {
	return scalar(&core.Scalar{Value: &core.Scalar_Primitive{Primitive: p}})
}

func union(value *core.Literal, t *core.LiteralType) *core.Literal {
	return scalar(&core.Scalar{Value: &core.Scalar_Union{Union: &core.Union{Value: value, Type: t}}})
}

func none() *core.Literal {
	return scalar(&core.Scalar{Value: &core.Scalar_NoneType{NoneType: &core.Void{}}})
}
