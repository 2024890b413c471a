package launchform

import (
	"encoding/base64"
	"reflect"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// The keys of a value whose JSON alone would give another literal back, such as a pickle or the variant of a union that is not the
// first to fit: the literal itself, encoded, and the JSON to show. While the JSON is as it was, the value is that literal. Of JSON that
// was changed, the other parts keep their values where that can be determined.
const (
	keyLiteral = "$literal"
	keyShown   = "$value"
)

// exactJSON is the JSON of a literal from which literalOf makes the same literal, with a type as its schema gives it back as well.
func exactJSON(path string, t, ofSchema *core.LiteralType, l *core.Literal) (any, error) {
	value, err := exactParts(path, t, l, 0)
	if err != nil {
		return nil, err
	}
	// Readers of values know the type of the interface, readers of a form the type of the schema.
	for _, one := range []*core.LiteralType{t, ofSchema} {
		if !gives(path, one, value, t, l) {
			return withLiteral(path, l)
		}
	}
	return value, nil
}

// exactParts keeps lists and maps readable: only those of their items that need it have their literals with them.
func exactParts(path string, t *core.LiteralType, l *core.Literal, depth int) (any, error) {
	if depth > maxDepth {
		return nil, wrong(path, "the value is nested too deep")
	}
	switch value := l.GetValue().(type) {
	case *core.Literal_Collection:
		items := make([]any, len(value.Collection.GetLiterals()))
		for i, item := range value.Collection.GetLiterals() {
			var err error
			if items[i], err = exactParts(at(path, i), t.GetCollectionType(), item, depth+1); err != nil {
				return nil, err
			}
		}
		return items, nil
	case *core.Literal_Map:
		fields := make(map[string]any, len(value.Map.GetLiterals()))
		for _, key := range sortedKeys(value.Map.GetLiterals()) {
			var err error
			if fields[key], err = exactParts(path+"."+key, t.GetMapValueType(), value.Map.GetLiterals()[key], depth+1); err != nil {
				return nil, err
			}
		}
		return fields, nil
	default:
		plain, err := jsonOf(path, l, depth)
		if err != nil || gives(path, t, plain, t, l) {
			return plain, err
		}
		return withLiteral(path, l)
	}
}

// gives reports whether JSON makes a literal of a type: the same one, but for the order of the fields of dataclasses. order is the
// type that says what the dataclasses are.
func gives(path string, t *core.LiteralType, value any, order *core.LiteralType, l *core.Literal) bool {
	back, err := literalOf(path, t, value, 0)
	return err == nil && proto.Equal(ordered(order, back), ordered(order, l))
}

func withLiteral(path string, l *core.Literal) (any, error) {
	shown, err := jsonOf(path, l, 0)
	if err != nil {
		return nil, err
	}
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(l)
	if err != nil {
		return nil, wrong(path, "the value cannot be encoded: %v", err)
	}
	return map[string]any{keyLiteral: base64.StdEncoding.EncodeToString(encoded), keyShown: shown}, nil
}

// shownOf is the JSON to show of a value of a form.
func shownOf(value any) any {
	if fields, ok := value.(map[string]any); ok && hasLiteral(fields) {
		return fields[keyShown]
	}
	return value
}

func hasLiteral(fields map[string]any) bool {
	_, literal := fields[keyLiteral].(string)
	_, shown := fields[keyShown]
	return literal && shown && len(fields) == 2
}

// givenLiteral is the literal of a value that has it with it. It returns nil, and the JSON that counts, if there is none, or if the
// JSON was changed and nothing of the literal is left.
func givenLiteral(path string, t *core.LiteralType, value any) (*core.Literal, any, error) {
	fields, ok := value.(map[string]any)
	if !ok || !hasLiteral(fields) {
		return nil, value, nil
	}
	text, _ := fields[keyLiteral].(string)
	encoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, nil, wrong(path, "%s is not base64: leave it as the form had it, or give the value alone", keyLiteral)
	}
	literal := &core.Literal{}
	if err := proto.Unmarshal(encoded, literal); err != nil {
		return nil, nil, wrong(path, "%s is not a literal: leave it as the form had it, or give the value alone", keyLiteral)
	}
	shown, err := jsonOf(path, literal, 0)
	if err != nil {
		return nil, nil, err
	}
	if !reflect.DeepEqual(shown, fields[keyShown]) {
		literal, err := editedLiteral(path, t, literal, fields[keyShown])
		return literal, fields[keyShown], err
	}
	return literal, nil, nil
}
