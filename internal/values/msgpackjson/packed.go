// Package msgpackjson converts between the msgpack in which clients encode structures and JSON values: maps with text
// keys, lists, text, numbers, booleans and null. Everything that shows, renders or transfers such values uses it.
package msgpackjson

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// maxDepth bounds the nesting of values.
const maxDepth = 100

// ErrTooDeep says that a value is nested more than 100 levels deep.
var ErrTooDeep = errors.New("it is nested too deeply")

// Decode reads one value. Bytes, and text that is not UTF-8, become base64 (RFC 4648, padded); times become RFC 3339 in
// UTC; keys become text, and two that become the same are an error. leaf converts every other leaf, a nil, bool, string, int64, uint64 or float64, or returns an
// error.
//
// It walks the value itself: the library's own decoding of any value has no bound on nesting.
func Decode(encoded []byte, leaf func(any) (any, error)) (any, error) {
	d := &decoder{Decoder: msgpack.NewDecoder(bytes.NewReader(encoded)), leaf: leaf}
	return d.value(0, leaf)
}

// Encode writes a value: keys in order, integers as short as they are.
func Encode(value any) ([]byte, error) {
	var buffer bytes.Buffer
	e := msgpack.NewEncoder(&buffer)
	e.SetSortMapKeys(true)
	e.UseCompactInts(true)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

type decoder struct {
	*msgpack.Decoder
	leaf func(any) (any, error)
}

func (d *decoder) value(depth int, leaf func(any) (any, error)) (any, error) {
	if depth > maxDepth {
		return nil, ErrTooDeep
	}
	code, err := d.PeekCode()
	if err != nil {
		return nil, err
	}
	switch {
	case msgpcode.IsFixedArray(code), code == msgpcode.Array16, code == msgpcode.Array32:
		return d.list(depth)
	case msgpcode.IsFixedMap(code), code == msgpcode.Map16, code == msgpcode.Map32:
		return d.fields(depth)
	case msgpcode.IsBin(code):
		value, err := d.DecodeBytes()
		return base64.StdEncoding.EncodeToString(value), err
	}
	value, err := d.DecodeInterfaceLoose()
	if err != nil {
		return nil, err
	}
	switch v := value.(type) {
	case string:
		if !utf8.ValidString(v) {
			return base64.StdEncoding.EncodeToString([]byte(v)), nil
		}
	case nil, bool, int64, uint64, float64:
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano), nil
	case *time.Time:
		return v.UTC().Format(time.RFC3339Nano), nil
	default:
		return nil, fmt.Errorf("it holds a %T, which JSON cannot", value)
	}
	return leaf(value)
}

func (d *decoder) list(depth int) (any, error) {
	n, err := d.DecodeArrayLen()
	if err != nil {
		return nil, err
	}
	items := []any{} // grown as items come: the announced length is not to be trusted
	for range n {
		item, err := d.value(depth+1, d.leaf)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

func (d *decoder) fields(depth int) (any, error) {
	n, err := d.DecodeMapLen()
	if err != nil {
		return nil, err
	}
	fields := map[string]any{}
	for range n {
		key, err := d.value(depth+1, asItIs)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprint(key)
		if _, twice := fields[name]; twice {
			return nil, fmt.Errorf("two keys of a map are both %q in JSON, where keys are text", name)
		}
		if fields[name], err = d.value(depth+1, d.leaf); err != nil {
			return nil, err
		}
	}
	return fields, nil
}

func asItIs(value any) (any, error) { return value, nil }
