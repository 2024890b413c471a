package copilot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/values/msgpackjson"
)

// literalOf decodes the content of a file as a type without files.
func literalOf(wanted *core.LiteralType, body []byte) (*core.Literal, error) {
	switch kind := wanted.GetType().(type) {
	case *core.LiteralType_Simple:
		return ofSimple(kind.Simple, body)
	case *core.LiteralType_EnumType:
		return ofEnum(kind.EnumType, strings.TrimSpace(string(body)))
	case *core.LiteralType_CollectionType, *core.LiteralType_MapValueType:
		value, err := decodeJSON(body)
		if err != nil {
			return nil, err
		}
		return ofJSON(wanted, value, 0)
	}
	return nil, fmt.Errorf("cannot be decoded as one")
}

// ofSimple reads the content of a file as a simple type.
func ofSimple(simple core.SimpleType, body []byte) (*core.Literal, error) {
	switch simple {
	case core.SimpleType_NONE:
		return nothing(), nil
	case core.SimpleType_BINARY:
		return ofScalar(&core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{Value: body}}}), nil
	case core.SimpleType_STRUCT:
		value, err := decodeJSON(body)
		if err != nil {
			return nil, err
		}
		return ofStructure(value)
	}
	if !utf8.Valid(body) {
		return nil, errors.New("is not UTF-8 text")
	}
	primitive, err := parsePrimitive(simple, string(body))
	if err != nil {
		return nil, err
	}
	return ofScalar(&core.Scalar{Value: &core.Scalar_Primitive{Primitive: primitive}}), nil
}

func ofEnum(enum *core.EnumType, text string) (*core.Literal, error) {
	if !slices.Contains(enum.GetValues(), text) {
		return nil, fmt.Errorf("must be one of %s", strings.Join(enum.GetValues(), ", "))
	}
	return ofScalar(&core.Scalar{Value: &core.Scalar_Primitive{
		Primitive: &core.Primitive{Value: &core.Primitive_StringValue{StringValue: text}},
	}}), nil
}

// ofStructure encodes a JSON value as the SDK encodes dataclasses: msgpack in a tagged binary.
func ofStructure(value any) (*core.Literal, error) {
	body, err := pack(value)
	if err != nil {
		return nil, err
	}
	return ofScalar(&core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{Value: body, Tag: packedTag}}}), nil
}

// ofJSON reads a part of a JSON document as a type.
func ofJSON(wanted *core.LiteralType, value any, depth int) (*core.Literal, error) {
	if depth > maxDepth {
		return nil, msgpackjson.ErrTooDeep
	}
	switch kind := wanted.GetType().(type) {
	case *core.LiteralType_CollectionType:
		items, ok := value.([]any)
		if !ok {
			return nil, errors.New("is not a JSON array")
		}
		list := &core.LiteralCollection{Literals: make([]*core.Literal, len(items))}
		for i, item := range items {
			var err error
			if list.Literals[i], err = ofJSON(kind.CollectionType, item, depth+1); err != nil {
				return nil, fmt.Errorf("at [%d] %w", i, err)
			}
		}
		return &core.Literal{Value: &core.Literal_Collection{Collection: list}}, nil
	case *core.LiteralType_MapValueType:
		fields, ok := value.(map[string]any)
		if !ok {
			return nil, errors.New("is not a JSON object")
		}
		literals := make(map[string]*core.Literal, len(fields))
		for key, field := range fields {
			var err error
			if literals[key], err = ofJSON(kind.MapValueType, field, depth+1); err != nil {
				return nil, fmt.Errorf("at %q %w", key, err)
			}
		}
		return &core.Literal{Value: &core.Literal_Map{Map: &core.LiteralMap{Literals: literals}}}, nil
	case *core.LiteralType_UnionType:
		return unionOfJSON(kind.UnionType.GetVariants(), value, depth)
	case *core.LiteralType_EnumType:
		text, _ := value.(string)
		return ofEnum(kind.EnumType, text)
	case *core.LiteralType_Simple:
		return simpleOfJSON(kind.Simple, value)
	}
	return nil, fmt.Errorf("cannot be %s inside of JSON", describe(wanted))
}

// unionOfJSON reads a value as the first variant that accepts it. The order is that of the declaration, so an author
// can put the narrower type first.
func unionOfJSON(variants []*core.LiteralType, value any, depth int) (*core.Literal, error) {
	var last error
	for _, variant := range variants {
		literal, err := ofJSON(variant, value, depth+1)
		if err == nil {
			return ofUnion(literal, variant), nil
		}
		last = err
	}
	return nil, last
}

// simpleOfJSON reads a JSON value as a simple type. Kinds must match: "1" is not an integer, and 1 is not text. Times
// and durations are text in JSON; durations may be a number of seconds, too.
func simpleOfJSON(simple core.SimpleType, value any) (*core.Literal, error) {
	switch simple {
	case core.SimpleType_STRUCT:
		return ofStructure(value)
	case core.SimpleType_NONE:
		if value != nil {
			return nil, errors.New("is not null")
		}
		return nothing(), nil
	}
	var text string
	switch v := value.(type) {
	case string:
		if simple == core.SimpleType_INTEGER || simple == core.SimpleType_BOOLEAN {
			return nil, errors.New("is text")
		}
		text = v
	case json.Number:
		if simple == core.SimpleType_STRING || simple == core.SimpleType_BOOLEAN {
			return nil, errors.New("is a number")
		}
		text = v.String()
	case bool:
		if simple != core.SimpleType_BOOLEAN {
			return nil, errors.New("is true or false")
		}
		text = fmt.Sprint(v)
	default:
		return nil, errors.New("is not a simple value")
	}
	return ofSimple(simple, []byte(text))
}

// decodeJSON parses exactly one JSON value. Numbers stay text, so that integers of 64 bits keep all digits.
func decodeJSON(body []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("is more than one JSON value")
	}
	return value, nil
}

func ofScalar(scalar *core.Scalar) *core.Literal {
	return &core.Literal{Value: &core.Literal_Scalar{Scalar: scalar}}
}

func nothing() *core.Literal {
	return ofScalar(&core.Scalar{Value: &core.Scalar_NoneType{NoneType: &core.Void{}}})
}

func ofUnion(literal *core.Literal, variant *core.LiteralType) *core.Literal {
	return ofScalar(&core.Scalar{Value: &core.Scalar_Union{Union: &core.Union{Value: literal, Type: variant}}})
}

func isNone(wanted *core.LiteralType) bool {
	simple, ok := wanted.GetType().(*core.LiteralType_Simple)
	return ok && simple.Simple == core.SimpleType_NONE
}

// noneOf is None as a value of the type; nil if the type does not allow None.
func noneOf(wanted *core.LiteralType) *core.Literal {
	if isNone(wanted) {
		return nothing()
	}
	for _, variant := range wanted.GetUnionType().GetVariants() {
		if isNone(variant) {
			return ofUnion(nothing(), variant)
		}
	}
	return nil
}

// describe names a type in messages.
func describe(wanted *core.LiteralType) string {
	switch kind := wanted.GetType().(type) {
	case *core.LiteralType_Simple:
		return strings.ToLower(kind.Simple.String())
	case *core.LiteralType_Blob:
		if kind.Blob.GetDimensionality() == core.BlobType_MULTIPART {
			return "directory"
		}
		return "file"
	case *core.LiteralType_CollectionType:
		return "list of " + describe(kind.CollectionType)
	case *core.LiteralType_MapValueType:
		return "map of " + describe(kind.MapValueType)
	case *core.LiteralType_StructuredDatasetType, *core.LiteralType_Schema:
		return "dataset"
	case *core.LiteralType_EnumType:
		return "enum"
	case *core.LiteralType_UnionType:
		names := make([]string, len(kind.UnionType.GetVariants()))
		for i, variant := range kind.UnionType.GetVariants() {
			names[i] = describe(variant)
		}
		return strings.Join(names, " or ")
	}
	return "an unknown type"
}
