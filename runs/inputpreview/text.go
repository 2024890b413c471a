package inputpreview

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/values/literaltext"
	"github.com/flyte-binary/flyte-binary/internal/values/msgpackjson"
)

// add lists an input. Structures and maps are listed by their fields. Bytes are listed by
// their number.
func (l *list) add(input *task.NamedLiteral) {
	literal := input.GetValue()
	for literal.GetScalar().GetUnion() != nil {
		literal = literal.GetScalar().GetUnion().GetValue()
	}
	name := input.GetName()
	if uri, stored := storedAt(literal); stored {
		l.put(name, lastPart(uri), insightv1.InputKind_INPUT_KIND_STORED)
		return
	}
	switch scalar := literal.GetScalar(); {
	case literal.GetMap() != nil:
		l.entries(name, literal.GetMap().GetLiterals())
	case scalar.GetNoneType() != nil:
		l.put(name, "none", insightv1.InputKind_INPUT_KIND_UNSPECIFIED)
	case scalar.GetPrimitive() != nil:
		l.primitive(name, literal)
	case scalar.GetGeneric() != nil:
		l.structure(name, scalar.GetGeneric().AsMap())
	case scalar.GetBinary() != nil:
		l.binary(name, scalar.GetBinary())
	default:
		l.rendered(name, literal, insightv1.InputKind_INPUT_KIND_UNSPECIFIED)
	}
}

// entries lists a map; those that are maps themselves are one text each.
func (l *list) entries(name string, values map[string]*core.Literal) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if l.full() {
			l.more = true
			return
		}
		if value := values[key]; value.GetMap() != nil {
			l.rendered(name+"."+key, value, insightv1.InputKind_INPUT_KIND_UNSPECIFIED)
		} else {
			l.add(&task.NamedLiteral{Name: name + "." + key, Value: value})
		}
	}
}

// rendered lists what can be an argument of a command.
func (l *list) rendered(name string, literal *core.Literal, kind insightv1.InputKind) {
	text, err := literaltext.Text(literal)
	if err != nil {
		l.more = true
		return
	}
	l.put(name, text, kind)
}

// storedAt is the URI of a value that is in the object store.
func storedAt(literal *core.Literal) (uri string, stored bool) {
	if offloaded := literal.GetOffloadedMetadata(); offloaded != nil {
		return offloaded.GetUri(), true
	}
	switch value := literal.GetScalar().GetValue().(type) {
	case *core.Scalar_Blob:
		return value.Blob.GetUri(), true
	case *core.Scalar_Schema:
		return value.Schema.GetUri(), true
	case *core.Scalar_StructuredDataset:
		return value.StructuredDataset.GetUri(), true
	default:
		return "", false
	}
}

func lastPart(uri string) string {
	uri = strings.TrimRight(uri, "/")
	return uri[strings.LastIndexByte(uri, '/')+1:]
}

func (l *list) primitive(name string, literal *core.Literal) {
	kind := insightv1.InputKind_INPUT_KIND_UNSPECIFIED
	if _, isText := literal.GetScalar().GetPrimitive().GetValue().(*core.Primitive_StringValue); isText {
		kind = insightv1.InputKind_INPUT_KIND_TEXT
	}
	l.rendered(name, literal, kind)
}

func (l *list) binary(name string, binary *core.Binary) {
	if binary.GetTag() == "msgpack" {
		if value, err := msgpackjson.Decode(binary.GetValue(), func(leaf any) (any, error) { return leaf, nil }); err == nil {
			if fields, ok := value.(map[string]any); ok {
				l.structure(name, fields)
			} else {
				l.value(name, value)
			}
			return
		}
	}
	l.put(name, fmt.Sprintf("%d bytes", len(binary.GetValue())), insightv1.InputKind_INPUT_KIND_UNSPECIFIED)
}

func (l *list) structure(name string, fields map[string]any) {
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		l.value(name+"."+field, fields[field])
	}
}

func (l *list) value(name string, value any) {
	switch v := value.(type) {
	case nil:
		l.put(name, "none", insightv1.InputKind_INPUT_KIND_UNSPECIFIED)
	case string:
		l.put(name, v, insightv1.InputKind_INPUT_KIND_TEXT)
	default:
		body, err := json.Marshal(v)
		if err != nil { // such as infinity
			body = fmt.Append(nil, v)
		}
		l.put(name, string(body), insightv1.InputKind_INPUT_KIND_UNSPECIFIED)
	}
}

// oneLine is a text as one line of at most maxCharacter characters. Characters that a screen would not show, or that would
// change the order of those next to them, become spaces. Of a longer text the end is kept rather than the middle: paths
// and names of parts differ there.
func oneLine(text string) string {
	text = strings.ToValidUTF8(text, "�")
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || unicode.IsSpace(r) }), " ")
	characters := []rune(text)
	if len(characters) <= maxCharacter {
		return text
	}
	const head = maxCharacter / 3
	tail := characters[len(characters)-(maxCharacter-head-1):]
	return string(characters[:head]) + "…" + string(tail)
}
