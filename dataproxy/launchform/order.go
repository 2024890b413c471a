package launchform

import (
	"bytes"
	"errors"
	"slices"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// ordered returns a literal with the fields of its dataclasses in order, so that two of them can be compared. Other maps keep
// their order, which programs can see.
func ordered(t *core.LiteralType, l *core.Literal) *core.Literal {
	l = proto.CloneOf(l)
	order(t, l, 0)
	return l
}

func order(t *core.LiteralType, l *core.Literal, depth int) {
	if depth > maxDepth {
		return
	}
	switch value := l.GetValue().(type) {
	case *core.Literal_Collection:
		for _, item := range value.Collection.GetLiterals() {
			order(t.GetCollectionType(), item, depth+1)
		}
	case *core.Literal_Map:
		for _, item := range value.Map.GetLiterals() {
			order(t.GetMapValueType(), item, depth+1)
		}
	case *core.Literal_Scalar:
		if union := value.Scalar.GetUnion(); union != nil {
			order(union.GetType(), union.GetValue(), depth+1)
		}
		if binary := value.Scalar.GetBinary(); binary.GetTag() == msgpackTag && t.GetMetadata() != nil {
			if body, err := orderedFields(binary.GetValue(), shapeOf(t)); err == nil {
				binary.Value = body
			}
		}
	}
}

// orderedFields writes msgpack again, with the fields of dataclasses in order and everything else as it was.
func orderedFields(encoded []byte, s shape) ([]byte, error) {
	source := bytes.NewReader(encoded)
	var body bytes.Buffer
	r := rewriter{in: msgpack.NewDecoder(source)}
	if err := r.value(&body, s, 0); err != nil {
		return nil, err
	}
	rest := encoded[len(encoded)-source.Len():] // the decoder does not read ahead from a reader that can unread
	return append(body.Bytes(), rest...), nil
}

type rewriter struct{ in *msgpack.Decoder }

var errTooDeep = errors.New("nested too deep")

func (r rewriter) value(out *bytes.Buffer, s shape, depth int) error {
	if depth > maxDepth {
		return errTooDeep
	}
	code, err := r.in.PeekCode()
	if err != nil {
		return err
	}
	to := msgpack.NewEncoder(out)
	switch {
	case msgpcode.IsFixedArray(code), code == msgpcode.Array16, code == msgpcode.Array32:
		n, err := r.in.DecodeArrayLen()
		if err != nil {
			return err
		}
		if err := to.EncodeArrayLen(n); err != nil {
			return err
		}
		for range n {
			if err := r.value(out, s.item(), depth+1); err != nil {
				return err
			}
		}
		return nil
	case msgpcode.IsFixedMap(code), code == msgpcode.Map16, code == msgpcode.Map32:
		return r.fields(out, s, depth)
	default:
		raw, err := r.in.DecodeRaw()
		out.Write(raw)
		return err
	}
}

func (r rewriter) fields(out *bytes.Buffer, s shape, depth int) error {
	n, err := r.in.DecodeMapLen()
	if err != nil {
		return err
	}
	if err := msgpack.NewEncoder(out).EncodeMapLen(n); err != nil {
		return err
	}
	var entries [][]byte
	for range n {
		var entry bytes.Buffer
		if err := r.value(&entry, shape{}, depth+1); err != nil {
			return err
		}
		var name string
		// Fields of dataclasses are strings; other keys lead to values of which the schema says nothing.
		inside := shape{}
		if msgpack.Unmarshal(entry.Bytes(), &name) == nil {
			inside = s.field(name)
		}
		if err := r.value(&entry, inside, depth+1); err != nil {
			return err
		}
		entries = append(entries, entry.Bytes())
	}
	if s.isObject() {
		// An entry begins with its key, so this is the order of the keys.
		slices.SortFunc(entries, bytes.Compare)
	}
	for _, entry := range entries {
		out.Write(entry)
	}
	return nil
}
