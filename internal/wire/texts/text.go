// Package texts decides which characters each text of a request may have. No message with another text reaches a handler.
package texts

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Check refuses a text that no handler should see. It returns the path of the first wrong field and what is wrong with it;
// no words if all texts are right. The requests of services are trusted.
func Check(message protoreflect.Message, trusted bool) (at, words string) {
	return door{trusted: trusted}.message(message)
}

// door checks the texts of a request before a handler sees them. No text has a NUL character, which Postgres cannot
// store: it would refuse the writes of everybody in the same batch. Names and what people read follow the rule of their
// kind, see textKinds, and are brought to Unicode's normal form NFC.
//
// The requests of our other services are trusted with their names: they came through this door, and what was stored
// before a rule existed must still reach its end.
type door struct {
	trusted bool
}

// message returns the path of a wrong text in a message and what is wrong with it; no words if there is none.
func (d door) message(message protoreflect.Message) (at, words string) {
	switch name := message.Descriptor().FullName(); {
	case computed[name]:
		return "", ""
	case payload(name):
		d.trusted = true
	}
	for _, field := range textsOf(message.Descriptor()) {
		if !message.Has(field) {
			continue
		}
		if at, words = d.field(message, field, message.Get(field)); words != "" {
			return at, words
		}
	}
	return "", ""
}

func (d door) field(message protoreflect.Message, field protoreflect.FieldDescriptor, value protoreflect.Value) (at, words string) {
	name := string(field.Name())
	switch {
	case field.IsMap():
		return d.entries(name, field, value.Map())
	case field.IsList():
		list := value.List()
		for i := range list.Len() {
			replace := func(text string) { list.Set(i, protoreflect.ValueOfString(text)) }
			if at, words = d.value(field, field, list.Get(i), replace); words != "" {
				return fmt.Sprintf("%s[%d]%s", name, i, at), words
			}
		}
		return "", ""
	default:
		at, words = d.value(field, field, value, func(text string) { message.Set(field, protoreflect.ValueOfString(text)) })
		return name + at, words
	}
}

// entries checks the keys and values of a map. Keys are not normalized: two of them could become one.
func (d door) entries(name string, field protoreflect.FieldDescriptor, entries protoreflect.Map) (at, words string) {
	entries.Range(func(key protoreflect.MapKey, value protoreflect.Value) bool {
		if field.MapKey().Kind() == protoreflect.StringKind {
			if _, words = d.text(keyKind(field), key.String()); words != "" {
				at = name
				return false
			}
		}
		replace := func(text string) { entries.Set(key, protoreflect.ValueOfString(text)) }
		if at, words = d.value(field, field.MapValue(), value, replace); words != "" {
			at = fmt.Sprintf("%s[%q]%s", name, key.String(), at)
		}
		return words == ""
	})
	return at, words
}

// value checks a value; replace takes its normal form. The kind of a text is its field's, the type of the value is that
// of the descriptor "of", which for the values of a map is another one. It returns the path below the value.
func (d door) value(field, of protoreflect.FieldDescriptor, value protoreflect.Value, replace func(string)) (at, words string) {
	switch of.Kind() { //nolint:exhaustive // only these have text
	case protoreflect.StringKind:
		text, words := d.text(kindOf(field), value.String())
		if words != "" {
			return "", words
		}
		if text != value.String() {
			replace(text)
		}
	case protoreflect.MessageKind, protoreflect.GroupKind:
		if at, words := d.message(value.Message()); words != "" {
			return "." + at, words
		}
	}
	return "", ""
}

// text returns the normal form of a text, or what is wrong with it.
func (d door) text(kind textKind, text string) (normal, words string) {
	switch {
	case strings.IndexByte(text, 0) >= 0:
		return "", "must not have a NUL character"
	case d.trusted || text == "":
		return text, ""
	}
	return kind.check(text)
}
