package protoweight

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// MaxDepth is how deeply messages may be nested.
const MaxDepth = 200

// ErrTooDeep means that messages are nested more deeply than MaxDepth.
var ErrTooDeep = errors.New("messages are nested too deeply")

// Binary is what a message takes once it is decoded from the binary format, in bytes. It stops as soon as that is more
// than limit. Of malformed data it weighs what a decoder reads before it fails.
func (t *Types) Binary(data []byte, message protoreflect.MessageDescriptor, limit int) (int, error) {
	root := t.of(message)
	s := scale{limit: limit, weight: root.size}
	s.message(data, root, MaxDepth)
	if s.tooDeep {
		return 0, ErrTooDeep
	}
	return s.weight, nil
}

type scale struct {
	weight, limit int
	tooDeep       bool
}

// message weighs the contents of a message and reports whether to continue.
func (s *scale) message(data []byte, m *messageType, depth int) bool {
	if depth == 0 {
		s.tooDeep = true
		return false
	}
	last := protowire.Number(-1)
	for len(data) > 0 {
		number, wire, n := protowire.ConsumeTag(data)
		if n < 0 {
			return false
		}
		data = data[n:]
		field := m.fields[number]
		var body []byte
		if wire == protowire.BytesType {
			body, n = protowire.ConsumeBytes(data)
		} else {
			n = protowire.ConsumeFieldValue(number, wire, data)
		}
		if n < 0 {
			return false
		}
		data = data[n:]
		switch {
		case field != nil && field.wire == wire:
			if number != last { // An attacker who alternates fields only makes the estimate worse for himself.
				s.weight += field.first
			}
			s.weight += field.each
			if !s.contents(body, field, depth) {
				return false
			}
		case field != nil && field.packed > 0 && wire == protowire.BytesType:
			s.weight += field.packed * elements(body, field.element)
		default:
			s.weight += 2 * (n + protowire.SizeTag(number)) // kept as an unknown field, in a list of bytes that grows
		}
		last = number
		if s.weight > s.limit {
			return false
		}
	}
	return true
}

// contents weighs the value of a field.
func (s *scale) contents(body []byte, field *fieldType, depth int) bool {
	if field.message == nil {
		s.weight += allocated(len(body))
		return true
	}
	s.weight += field.message.size
	return s.message(body, field.message, depth-1)
}

// elements counts the values in a packed list.
func elements(body []byte, wire protowire.Type) int {
	switch wire {
	case protowire.Fixed32Type:
		return len(body) / 4
	case protowire.Fixed64Type:
		return len(body) / 8
	default:
		count := 0
		for _, b := range body {
			if b < 0x80 {
				count++
			}
		}
		return count
	}
}
