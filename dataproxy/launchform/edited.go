package launchform

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// editedLiteral is the literal of JSON that was changed, of which the unchanged parts stay what they were: someone who changes one
// entry of a dict does not turn the floats of the others into integers. It returns nil for a literal that has no such parts.
func editedLiteral(path string, t *core.LiteralType, was *core.Literal, value any) (*core.Literal, error) {
	binary := was.GetScalar().GetBinary()
	simple, ok := t.GetType().(*core.LiteralType_Simple)
	// Text is base64, which binaryLiteral reads.
	_, isText := value.(string)
	if binary.GetTag() != msgpackTag || !ok || isText || simple.Simple != core.SimpleType_STRUCT && simple.Simple != core.SimpleType_BINARY {
		return nil, nil //nolint:nilnil // documented
	}
	if _, isObject := value.(map[string]any); simple.Simple == core.SimpleType_STRUCT && !isObject {
		return nil, nil //nolint:nilnil // documented
	}
	body, err := edited(path, shapeOf(t), binary.GetValue(), value)
	if err != nil {
		return nil, err
	}
	return scalar(&core.Scalar{Value: &core.Scalar_Binary{Binary: &core.Binary{Value: body, Tag: msgpackTag}}}), nil
}

// edited packs a JSON value like the msgpack from which it was made.
func edited(path string, s shape, was []byte, value any) ([]byte, error) {
	shown, err := msgpackJSON(path, was)
	if err != nil {
		return nil, err
	}
	// The same bytes: packing the JSON again could change the kind of its numbers.
	if reflect.DeepEqual(shown, value) {
		return was, nil
	}
	in := msgpack.NewDecoder(bytes.NewReader(was))
	switch left := value.(type) {
	case map[string]any:
		if code := was[0]; msgpcode.IsFixedMap(code) || code == msgpcode.Map16 || code == msgpcode.Map32 {
			return editedFields(path, s, in, left)
		}
	case []any:
		if code := was[0]; msgpcode.IsFixedArray(code) || code == msgpcode.Array16 || code == msgpcode.Array32 {
			return editedItems(path, s, in, left)
		}
	}
	return packMsgpack(path, s, value)
}

// editedFields keeps the order of the entries that are left. New ones follow, sorted by their keys.
func editedFields(path string, s shape, in *msgpack.Decoder, fields map[string]any) ([]byte, error) {
	n, err := in.DecodeMapLen()
	if err != nil {
		return nil, wrong(path, "%v", err)
	}
	var body bytes.Buffer
	to := msgpack.NewEncoder(&body)
	if err := to.EncodeMapLen(len(fields)); err != nil {
		return nil, wrong(path, "%v", err)
	}
	known := map[string]bool{}
	for range n {
		key, err := in.DecodeRaw()
		if err != nil {
			return nil, wrong(path, "%v", err)
		}
		was, err := in.DecodeRaw()
		if err != nil {
			return nil, wrong(path, "%v", err)
		}
		shown, err := msgpackJSON(path, key)
		if err != nil {
			return nil, err
		}
		name := keyText(shown)
		value, left := fields[name]
		if !left {
			continue
		}
		known[name] = true
		part, err := edited(path+"."+name, s.field(name), was, value)
		if err != nil {
			return nil, err
		}
		body.Write(key)
		body.Write(part)
	}
	for _, name := range sortedKeys(fields) {
		if known[name] {
			continue
		}
		part, err := packMsgpack(path+"."+name, s.field(name), fields[name])
		if err != nil {
			return nil, err
		}
		if err := to.EncodeString(name); err != nil {
			return nil, wrong(path, "%v", err)
		}
		body.Write(part)
	}
	return body.Bytes(), nil
}

// editedItems compares items by their places: one that was removed in the middle makes all later ones changed.
func editedItems(path string, s shape, in *msgpack.Decoder, items []any) ([]byte, error) {
	n, err := in.DecodeArrayLen()
	if err != nil {
		return nil, wrong(path, "%v", err)
	}
	var body bytes.Buffer
	if err := msgpack.NewEncoder(&body).EncodeArrayLen(len(items)); err != nil {
		return nil, wrong(path, "%v", err)
	}
	for i, item := range items {
		var part []byte
		if i < n {
			was, err := in.DecodeRaw()
			if err != nil {
				return nil, wrong(path, "%v", err)
			}
			if part, err = edited(at(path, i), s.item(), was, item); err != nil {
				return nil, err
			}
		} else if part, err = packMsgpack(at(path, i), s.item(), item); err != nil {
			return nil, err
		}
		body.Write(part)
	}
	return body.Bytes(), nil
}

// keyText is a key of a map as JSON has it: msgpackjson writes keys in the same way.
func keyText(shown any) string {
	if n, ok := shown.(float64); ok && n == float64(int64(n)) {
		return fmt.Sprint(int64(n))
	}
	return fmt.Sprint(shown)
}
