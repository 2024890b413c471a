package copilot

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/flyte-binary/flyte-binary/internal/values/msgpackjson"
)

// packedTag is the tag of binary values that are structures.
const packedTag = "msgpack"

// maxDepth bounds the nesting of types and of JSON documents.
const maxDepth = 100

// unpack decodes a structure.
func unpack(encoded []byte) (any, error) { return msgpackjson.Decode(encoded, plain) }

// plain converts a decoded structure to JSON types. JSON has no infinities and no NaN, which become text.
func plain(value any) (any, error) {
	if v, ok := value.(float64); ok && (math.IsNaN(v) || math.IsInf(v, 0)) {
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	}
	return value, nil
}

// pack encodes a JSON value as clients do. Numbers keep their kind: 1 is an integer, 1.0 is a float.
func pack(value any) ([]byte, error) { return msgpackjson.Encode(numbers(value)) }

// numbers replaces the numbers of a JSON document by integers where they are written as such.
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
