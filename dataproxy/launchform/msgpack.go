package launchform

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// msgpackJSON decodes one msgpack value. It walks the value itself: the library's own decoding of any value has no bound
// on nesting.
func msgpackJSON(path string, encoded []byte) (any, error) {
	d := msgpack.NewDecoder(bytes.NewReader(encoded))
	value, err := decodeAny(d, 0)
	if err != nil {
		return nil, wrong(path, "the value is not msgpack: %v", err)
	}
	return value, nil
}

func decodeAny(d *msgpack.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("it is nested too deep")
	}
	code, err := d.PeekCode()
	if err != nil {
		return nil, err
	}
	switch {
	case code == msgpcode.Nil:
		return nil, d.DecodeNil()
	case msgpcode.IsFixedArray(code), code == msgpcode.Array16, code == msgpcode.Array32:
		return decodeList(d, depth)
	case msgpcode.IsFixedMap(code), code == msgpcode.Map16, code == msgpcode.Map32:
		return decodeMap(d, depth)
	case msgpcode.IsBin(code):
		value, err := d.DecodeBytes()
		return base64.StdEncoding.EncodeToString(value), err
	default:
		value, err := d.DecodeInterfaceLoose()
		if err != nil {
			return nil, err
		}
		return leaf(value)
	}
}

func decodeList(d *msgpack.Decoder, depth int) (any, error) {
	n, err := d.DecodeArrayLen()
	if err != nil {
		return nil, err
	}
	items := []any{} // grown as items come: the announced length is not to be trusted
	for range n {
		item, err := decodeAny(d, depth+1)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

// decodeMap makes text of keys, since JSON has no others.
func decodeMap(d *msgpack.Decoder, depth int) (any, error) {
	n, err := d.DecodeMapLen()
	if err != nil {
		return nil, err
	}
	fields := map[string]any{}
	for range n {
		key, err := decodeAny(d, depth+1)
		if err != nil {
			return nil, err
		}
		if fields[keyText(key)], err = decodeAny(d, depth+1); err != nil {
			return nil, err
		}
	}
	return fields, nil
}

func keyText(key any) string {
	switch k := key.(type) {
	case string:
		return k
	case float64:
		return strconv.FormatFloat(k, 'f', -1, 64)
	default:
		return fmt.Sprint(k)
	}
}

func leaf(value any) (any, error) {
	switch v := value.(type) {
	case bool, nil:
		return v, nil
	case int64:
		return integerJSON(v), nil
	case uint64:
		if v > maxExact {
			return strconv.FormatUint(v, 10), nil
		}
		return float64(v), nil
	case float64:
		return floatJSON(v), nil
	case string:
		if !utf8.ValidString(v) {
			return base64.StdEncoding.EncodeToString([]byte(v)), nil
		}
		return v, nil
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano), nil
	case *time.Time:
		return v.UTC().Format(time.RFC3339Nano), nil
	default:
		return nil, fmt.Errorf("%T cannot be given as JSON", value)
	}
}

// packMsgpack encodes a JSON value; whole numbers as integers.
func packMsgpack(path string, value any) ([]byte, error) {
	var buffer bytes.Buffer
	e := msgpack.NewEncoder(&buffer)
	e.SetSortMapKeys(true)
	e.UseCompactInts(true)
	if err := e.Encode(wholeNumbers(value)); err != nil {
		return nil, wrong(path, "%v", err)
	}
	return buffer.Bytes(), nil
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
