package launchform

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/msgpackjson"
)

// msgpackJSON decodes one msgpack value.
func msgpackJSON(path string, encoded []byte) (any, error) {
	value, err := msgpackjson.Decode(encoded, leaf)
	if err != nil {
		return nil, wrong(path, "the value is not msgpack: %v", err)
	}
	return value, nil
}

// leaf keeps numbers as JSON has them; those that it cannot hold exactly become text.
func leaf(value any) (any, error) {
	switch v := value.(type) {
	case int64:
		return integerJSON(v), nil
	case uint64:
		if v > maxExact {
			return strconv.FormatUint(v, 10), nil
		}
		return float64(v), nil
	case float64:
		return floatJSON(v), nil
	default:
		return value, nil
	}
}

// packMsgpack encodes a JSON value; whole numbers as integers.
func packMsgpack(path string, value any) ([]byte, error) {
	encoded, err := msgpackjson.Encode(wholeNumbers(value))
	if err != nil {
		return nil, wrong(path, "%v", err)
	}
	return encoded, nil
}

func wholeNumbers(value any) any {
	switch v := value.(type) {
	case float64:
		if v == float64(int64(v)) && v <= maxExact && v >= -maxExact {
			return int64(v)
		}
	case []any:
		result := make([]any, len(v))
		for i, item := range v {
			result[i] = wholeNumbers(item)
		}
		return result
	case map[string]any:
		result := make(map[string]any, len(v))
		for key, item := range v {
			result[key] = wholeNumbers(item)
		}
		return result
	}
	return value
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), strings.Compare)
}
