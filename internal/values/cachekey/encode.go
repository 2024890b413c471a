package cachekey

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// appendMessage encodes a message with its fields in the order of their numbers and maps in that of their keys. Python
// encodes so; Go puts the members of a oneof last, which is as valid and hashes differently.
func appendMessage(out []byte, m protoreflect.Message) []byte {
	type field struct {
		descriptor protoreflect.FieldDescriptor
		value      protoreflect.Value
	}
	var fields []field
	m.Range(func(descriptor protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		fields = append(fields, field{descriptor, value})
		return true
	})
	slices.SortFunc(fields, func(a, b field) int { return cmp.Compare(a.descriptor.Number(), b.descriptor.Number()) })
	for _, f := range fields {
		switch {
		case f.descriptor.IsMap():
			out = appendMap(out, f.descriptor, f.value.Map())
		case f.descriptor.IsList():
			out = appendList(out, f.descriptor, f.value.List())
		default:
			out = appendField(out, f.descriptor, f.value)
		}
	}
	return append(out, m.GetUnknown()...)
}

func appendList(out []byte, f protoreflect.FieldDescriptor, list protoreflect.List) []byte {
	if !f.IsPacked() {
		for i := range list.Len() {
			out = appendField(out, f, list.Get(i))
		}
		return out
	}
	var packed []byte
	for i := range list.Len() {
		packed = appendValue(packed, f, list.Get(i))
	}
	return protowire.AppendBytes(protowire.AppendTag(out, f.Number(), protowire.BytesType), packed)
}

// appendMap writes the key and the value of each entry, also if they are the default of their type, unlike fields.
func appendMap(out []byte, f protoreflect.FieldDescriptor, entries protoreflect.Map) []byte {
	var keys []protoreflect.MapKey
	entries.Range(func(key protoreflect.MapKey, _ protoreflect.Value) bool {
		keys = append(keys, key)
		return true
	})
	slices.SortFunc(keys, compareKeys)
	for _, key := range keys {
		entry := appendField(nil, f.MapKey(), key.Value())
		entry = appendField(entry, f.MapValue(), entries.Get(key))
		out = protowire.AppendBytes(protowire.AppendTag(out, f.Number(), protowire.BytesType), entry)
	}
	return out
}

// compareKeys compares strings by their bytes and numbers by their value; false comes before true.
func compareKeys(a, b protoreflect.MapKey) int {
	switch x := a.Interface().(type) {
	case string:
		return strings.Compare(x, b.String())
	case int32, int64:
		return cmp.Compare(a.Int(), b.Int())
	case uint32, uint64:
		return cmp.Compare(a.Uint(), b.Uint())
	case bool:
		if x == b.Bool() {
			return 0
		}
		if x {
			return 1
		}
		return -1
	}
	return 0
}

func appendField(out []byte, f protoreflect.FieldDescriptor, value protoreflect.Value) []byte {
	return appendValue(protowire.AppendTag(out, f.Number(), wireTypes[f.Kind()]), f, value)
}

// wireTypes has the wire types of all kinds but varints.
var wireTypes = map[protoreflect.Kind]protowire.Type{
	protoreflect.Sfixed32Kind: protowire.Fixed32Type,
	protoreflect.Fixed32Kind:  protowire.Fixed32Type,
	protoreflect.FloatKind:    protowire.Fixed32Type,
	protoreflect.Sfixed64Kind: protowire.Fixed64Type,
	protoreflect.Fixed64Kind:  protowire.Fixed64Type,
	protoreflect.DoubleKind:   protowire.Fixed64Type,
	protoreflect.StringKind:   protowire.BytesType,
	protoreflect.BytesKind:    protowire.BytesType,
	protoreflect.MessageKind:  protowire.BytesType,
}

func appendValue(out []byte, f protoreflect.FieldDescriptor, value protoreflect.Value) []byte {
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protowire.AppendVarint(out, protowire.EncodeBool(value.Bool()))
	case protoreflect.EnumKind:
		return protowire.AppendVarint(out, uint64(value.Enum())) //nolint:gosec // negative numbers have ten bytes
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		return protowire.AppendVarint(out, uint64(value.Int())) //nolint:gosec // negative numbers have ten bytes
	case protoreflect.Sint32Kind, protoreflect.Sint64Kind:
		return protowire.AppendVarint(out, protowire.EncodeZigZag(value.Int()))
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind:
		return protowire.AppendVarint(out, value.Uint())
	case protoreflect.Sfixed32Kind:
		return protowire.AppendFixed32(out, uint32(value.Int())) //nolint:gosec // two's complement
	case protoreflect.Fixed32Kind:
		return protowire.AppendFixed32(out, uint32(value.Uint())) //nolint:gosec // 32 bits
	case protoreflect.FloatKind:
		return protowire.AppendFixed32(out, math.Float32bits(float32(value.Float())))
	case protoreflect.Sfixed64Kind:
		return protowire.AppendFixed64(out, uint64(value.Int())) //nolint:gosec // two's complement
	case protoreflect.Fixed64Kind:
		return protowire.AppendFixed64(out, value.Uint())
	case protoreflect.DoubleKind:
		return protowire.AppendFixed64(out, math.Float64bits(value.Float()))
	case protoreflect.StringKind:
		return protowire.AppendString(out, value.String())
	case protoreflect.BytesKind:
		return protowire.AppendBytes(out, value.Bytes())
	default: // messages; the contract has no groups
		return protowire.AppendBytes(out, appendMessage(nil, value.Message()))
	}
}
