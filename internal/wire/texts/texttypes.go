package texts

import (
	"sync"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// textFieldsOf remembers textsOf: a walk over the descriptors for each message would cost more than the check itself.
var textFieldsOf sync.Map // of protoreflect.MessageDescriptor to []protoreflect.FieldDescriptor

// textsOf returns the fields of a message that are texts or may have some below them.
func textsOf(message protoreflect.MessageDescriptor) []protoreflect.FieldDescriptor {
	if known, ok := textFieldsOf.Load(message); ok {
		return known.([]protoreflect.FieldDescriptor) //nolint:forcetypeassert // nothing else is stored
	}
	var found []protoreflect.FieldDescriptor
	fields := message.Fields()
	for i := range fields.Len() {
		if field := fields.Get(i); mayHaveText(field, map[protoreflect.FullName]bool{}) {
			found = append(found, field)
		}
	}
	textFieldsOf.Store(message, found)
	return found
}

// mayHaveText looks for a text in a field and below it. Messages that were seen are not entered again: they may contain
// themselves.
func mayHaveText(field protoreflect.FieldDescriptor, seen map[protoreflect.FullName]bool) bool {
	if field.IsMap() {
		return field.MapKey().Kind() == protoreflect.StringKind || mayHaveText(field.MapValue(), seen)
	}
	switch field.Kind() {
	case protoreflect.StringKind:
		return true
	case protoreflect.MessageKind, protoreflect.GroupKind:
	default:
		return false
	}
	message := field.Message()
	if seen[message.FullName()] || computed[message.FullName()] {
		return false
	}
	seen[message.FullName()] = true
	fields := message.Fields()
	for i := range fields.Len() {
		if mayHaveText(fields.Get(i), seen) {
			return true
		}
	}
	return false
}
