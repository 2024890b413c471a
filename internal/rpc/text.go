package rpc

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// nulIn returns the path of a string with a NUL character, which Postgres cannot store in a text; empty if there is
// none. One such string would make Postgres refuse the writes of everybody in the same batch.
func nulIn(message protoreflect.Message) string {
	switch message.Descriptor().FullName() {
	case "flyteidl2.core.Primitive", "flyteidl2.core.ExecutionError", "flyteidl2.core.ContainerError",
		"flyteidl2.workflow.ErrorInfo", "flyteidl2.workflow.ClusterEvent":
		return "" // What a task computes or prints may have any character. It is stored as bytes.
	}
	found := ""
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		found = nulInField(field, value)
		return found == ""
	})
	return found
}

func nulInField(field protoreflect.FieldDescriptor, value protoreflect.Value) (path string) {
	name := string(field.Name())
	switch {
	case field.IsMap():
		value.Map().Range(func(key protoreflect.MapKey, value protoreflect.Value) bool {
			switch {
			case field.MapKey().Kind() == protoreflect.StringKind && hasNUL(key.String()):
				path = name
			default:
				path = below(fmt.Sprintf("%s[%q]", name, key.String()), field.MapValue(), value)
			}
			return path == ""
		})
	case field.IsList():
		for i := range value.List().Len() {
			if path = below(fmt.Sprintf("%s[%d]", name, i), field, value.List().Get(i)); path != "" {
				break
			}
		}
	default:
		path = below(name, field, value)
	}
	return path
}

// below is the path of the string with a NUL in the value of a field, an element or an entry at a path.
func below(at string, field protoreflect.FieldDescriptor, value protoreflect.Value) string {
	switch field.Kind() { //nolint:exhaustive // only these have text
	case protoreflect.StringKind:
		if hasNUL(value.String()) {
			return at
		}
	case protoreflect.MessageKind, protoreflect.GroupKind:
		if path := nulIn(value.Message()); path != "" {
			return at + "." + path
		}
	}
	return ""
}

func hasNUL(text string) bool { return strings.IndexByte(text, 0) >= 0 }
