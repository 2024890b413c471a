package copilot

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// packedTag marks a binary value that is a structure.
const packedTag = "msgpack"

// maxDepth bounds the nesting of values.
const maxDepth = 100

var errTooDeep = errors.New("it is nested too deep")

// unpack decodes a structure. It walks the value itself: the library's own decoding of any value has no bound on nesting.
func unpack(encoded []byte) (any, error) {
	return unpackNext(msgpack.NewDecoder(bytes.NewReader(encoded)), 0)
}

func unpackNext(d *msgpack.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	code, err := d.PeekCode()
	if err != nil {
		return nil, err
	}
	switch {
	case code == msgpcode.Nil:
		return nil, d.DecodeNil()
	case msgpcode.IsFixedArray(code), code == msgpcode.Array16, code == msgpcode.Array32:
		n, err := d.DecodeArrayLen()
		if err != nil {
			return nil, err
		}
		items := []any{} // grown as items come: the announced length is not to be trusted
		for range n {
			item, err := unpackNext(d, depth+1)
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		return items, nil
	case msgpcode.IsFixedMap(code), code == msgpcode.Map16, code == msgpcode.Map32:
		return unpackMap(d, depth)
	case msgpcode.IsBin(code):
		value, err := d.DecodeBytes()
		return base64.StdEncoding.EncodeToString(value), err
	}
	value, err := d.DecodeInterfaceLoose()
	if err != nil {
		return nil, err
	}
	return plain(value), nil
}

// unpackMap makes text of keys, since JSON has no others.
func unpackMap(d *msgpack.Decoder, depth int) (any, error) {
	n, err := d.DecodeMapLen()
	if err != nil {
		return nil, err
	}
	fields := map[string]any{}
	for range n {
		key, err := unpackNext(d, depth+1)
		if err != nil {
			return nil, err
		}
		if fields[fmt.Sprint(key)], err = unpackNext(d, depth+1); err != nil {
			return nil, err
		}
	}
	return fields, nil
}

// plain is what JSON can say.
func plain(value any) any {
	switch v := value.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
	case string:
		if !utf8.ValidString(v) {
			return base64.StdEncoding.EncodeToString([]byte(v))
		}
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case *time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	}
	return value
}

// pack encodes a JSON value as clients do. Numbers keep their kind: 1 is an integer and 1.0 is none.
func pack(value any) ([]byte, error) {
	var buffer bytes.Buffer
	e := msgpack.NewEncoder(&buffer)
	e.SetSortMapKeys(true)
	e.UseCompactInts(true)
	if err := e.Encode(numbers(value)); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

func numbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		if n, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return n
		}
		f, _ := v.Float64() // the decoder has checked it
		return f
	case []any:
		result := make([]any, len(v))
		for i, item := range v {
			result[i] = numbers(item)
		}
		return result
	case map[string]any:
		result := make(map[string]any, len(v))
		for key, item := range v {
			result[key] = numbers(item)
		}
		return result
	}
	return value
}
