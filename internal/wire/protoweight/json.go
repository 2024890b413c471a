package protoweight

import "google.golang.org/protobuf/reflect/protoreflect"

// JSON is an upper bound of what a message takes once it is decoded from JSON, in bytes. It stops as soon as that is
// more than limit. It counts objects, lists and commas and takes each for the costliest thing that could be there, so
// it says more than Binary does of the same message.
func (t *Types) JSON(data []byte, message protoreflect.MessageDescriptor, limit int) (int, error) {
	const (
		member = 3*(stringWords+sliceWords) + stringWords // an entry of a map, and its key
		list   = 4*pointer + sliceWords + 2*oneof + 64    // a list as a value of google.protobuf.Value
	)
	object := t.of(message).largest + 2*pointer + oneof + mapHeader + mapSlots*(stringWords+sliceWords+1)
	weight := 2 * len(data) // texts, and their copies without escapes
	quoted, depth := false, 0
	for i := 0; i < len(data) && weight <= limit; i++ {
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ',':
			weight += member
		case c == '}' || c == ']':
			depth--
		case c == '{':
			weight += object + member
			depth++
		case c == '[':
			weight += list + member
			depth++
		}
		if depth > MaxDepth {
			return 0, ErrTooDeep
		}
	}
	return weight, nil
}
