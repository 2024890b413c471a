package launchform

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/values/msgpackjson"
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

// packMsgpack encodes a JSON value. Numbers are what their schema says; without one, whole numbers are integers.
func packMsgpack(path string, s shape, value any) ([]byte, error) {
	typed, err := s.typed(path, value)
	if err != nil {
		return nil, err
	}
	encoded, err := msgpackjson.Encode(typed)
	if err != nil {
		return nil, wrong(path, "%v", err)
	}
	return encoded, nil
}

// typed is a JSON value with the numbers of its schema.
func (s shape) typed(path string, value any) (any, error) {
	switch v := value.(type) {
	case float64:
		return s.number(path, v)
	case string:
		return s.numberInText(v), nil
	case []any:
		result := make([]any, len(v))
		for i, item := range v {
			var err error
			if result[i], err = s.item().typed(at(path, i), item); err != nil {
				return nil, err
			}
		}
		return result, nil
	case map[string]any:
		result := make(map[string]any, len(v))
		for _, key := range sortedKeys(v) {
			var err error
			if result[key], err = s.field(key).typed(path+"."+key, v[key]); err != nil {
				return nil, err
			}
		}
		return result, nil
	default:
		return value, nil
	}
}

func (s shape) number(path string, v float64) (any, error) {
	switch {
	case v != math.Trunc(v) || s.has("number") && !s.has("integer"):
		return v, nil
	case math.Abs(v) <= maxExact:
		return int64(v), nil
	case s.has("integer"):
		return nil, wrong(path, "%s", notExact)
	default:
		return nil, wrong(path, "a whole number of more than 2^53-1 arrives changed, and nothing says whether it is an integer or a float")
	}
}

// numberInText is what represents a number that JSON cannot hold.
func (s shape) numberInText(v string) any {
	if s.has("string") {
		return v
	}
	if s.has("integer") {
		if n, err := strconv.ParseInt(v, 10, 64); err == nil {
			return n
		}
		if n, err := strconv.ParseUint(v, 10, 64); err == nil {
			return n
		}
	}
	if s.has("number") {
		if f, err := parseFloat("", v); err == nil {
			return f
		}
	}
	return v
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.SortedFunc(maps.Keys(m), strings.Compare)
}
