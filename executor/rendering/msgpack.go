package rendering

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// msgpackText is the JSON of a packed value. A packed string stands for itself, without quotes.
func msgpackText(body []byte) (string, error) {
	value, err := unpack(msgpack.NewDecoder(bytes.NewReader(body)), maxDepth)
	if err != nil {
		return "", fmt.Errorf("its msgpack cannot be read: %w", err)
	}
	if text, ok := value.(string); ok {
		return text, nil
	}
	return encoded(value)
}

// unpack reads one value as JSON knows it: keys become text, bytes base64, times RFC 3339. It walks the value itself,
// since the library follows any depth.
func unpack(d *msgpack.Decoder, depth int) (any, error) {
	if depth == 0 {
		return nil, errors.New("it is nested too deeply")
	}
	code, err := d.PeekCode()
	if err != nil {
		return nil, err
	}
	switch {
	case msgpcode.IsFixedArray(code), code == msgpcode.Array16, code == msgpcode.Array32:
		return unpackList(d, depth)
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
	switch value := value.(type) {
	case nil, bool, string, int64, uint64:
		return value, nil
	case float64:
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return nil, fmt.Errorf("it holds %v, which JSON cannot", value)
		}
		return value, nil
	case time.Time:
		return value.UTC().Format(time.RFC3339Nano), nil
	case *time.Time:
		return value.UTC().Format(time.RFC3339Nano), nil
	default:
		return nil, fmt.Errorf("it holds a %T, which JSON cannot", value)
	}
}

func unpackList(d *msgpack.Decoder, depth int) (any, error) {
	n, err := d.DecodeArrayLen()
	if err != nil {
		return nil, err
	}
	items := []any{} // It grows as items come: the announced length is not to be trusted.
	for range n {
		item, err := unpack(d, depth-1)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	return items, nil
}

func unpackMap(d *msgpack.Decoder, depth int) (any, error) {
	n, err := d.DecodeMapLen()
	if err != nil {
		return nil, err
	}
	fields := map[string]any{}
	for range n {
		key, err := unpack(d, depth-1)
		if err != nil {
			return nil, err
		}
		if fields[fmt.Sprint(key)], err = unpack(d, depth-1); err != nil {
			return nil, err
		}
	}
	return fields, nil
}
