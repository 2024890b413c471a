package protoweight

import (
	"reflect"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// Go's overhead, in bytes, in addition to the contents.
const (
	pointer     = 8
	stringWords = 16
	sliceWords  = 24
	oneof       = 16  // the value of a oneof is boxed
	mapHeader   = 48  // an empty map
	mapSlots    = 8   // the first entry of a map makes room for eight
	unknownType = 512 // of messages whose Go type is not linked in
)

// Types knows what the messages of each type take. It reads a type's descriptor when it meets the type for the first
// time. The zero value works. It is safe for concurrent use.
type Types struct {
	mu    sync.Mutex
	known sync.Map // of protoreflect.FullName to *messageType, with all types that it reaches
}

// messageType is what one message of a type takes.
type messageType struct {
	size    int // of the empty message
	fields  map[protowire.Number]*fieldType
	largest int // size of the largest message that can be in it, itself included
}

// fieldType is what each occurrence of a field takes.
type fieldType struct {
	wire    protowire.Type
	each    int            // in addition to the contents
	first   int            // once for each message that has the field
	packed  int            // of an element of a packed list; 0 if the field cannot be packed
	element protowire.Type // of an element of a packed list
	message *messageType   // of messages; nil otherwise
}

// of is the type of a message.
func (t *Types) of(descriptor protoreflect.MessageDescriptor) *messageType {
	if found, ok := t.known.Load(descriptor.FullName()); ok {
		return found.(*messageType) //nolint:forcetypeassert // only these are stored
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	made := map[protoreflect.FullName]*messageType{}
	root := build(descriptor, made)
	for name, each := range made {
		each.largest = largest(each, map[*messageType]bool{})
		t.known.LoadOrStore(name, each)
	}
	return root
}

func build(descriptor protoreflect.MessageDescriptor, made map[protoreflect.FullName]*messageType) *messageType {
	if found, ok := made[descriptor.FullName()]; ok {
		return found
	}
	m := &messageType{size: sizeOf(descriptor), fields: map[protowire.Number]*fieldType{}}
	made[descriptor.FullName()] = m
	fields := descriptor.Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		m.fields[field.Number()] = buildField(field, made)
	}
	return m
}

func buildField(field protoreflect.FieldDescriptor, made map[protoreflect.FullName]*messageType) *fieldType {
	f := &fieldType{wire: wireOf(field.Kind())}
	if message := field.Message(); message != nil {
		f.message = build(message, made)
	}
	_, words := wordsOf(field.Kind())
	switch {
	case field.IsMap():
		_, key := wordsOf(field.MapKey().Kind())
		_, value := wordsOf(field.MapValue().Kind())
		// Maps grow to twice their size when seven of eight slots are taken. The entry is not a message of its own.
		f.each = 3 * (key + value)
		f.first = mapHeader + mapSlots*(key+value+1)
	case field.IsList():
		f.each = 2 * words // lists grow to twice their length
		if f.wire != protowire.BytesType {
			f.packed, f.element = words, f.wire
		}
	default:
		f.each = words
		if field.ContainingOneof() != nil {
			f.each += oneof
		}
	}
	return f
}

// wordsOf is the wire type of a kind, and what a value of it takes in a list or a map.
func wordsOf(kind protoreflect.Kind) (protowire.Type, int) {
	switch kind {
	case protoreflect.BoolKind:
		return protowire.VarintType, 1
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Uint32Kind, protoreflect.EnumKind:
		return protowire.VarintType, 4
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Uint64Kind:
		return protowire.VarintType, 8
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return protowire.Fixed32Type, 4
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return protowire.Fixed64Type, 8
	case protoreflect.StringKind:
		return protowire.BytesType, stringWords
	case protoreflect.BytesKind:
		return protowire.BytesType, sliceWords
	case protoreflect.GroupKind:
		return protowire.StartGroupType, pointer
	default:
		return protowire.BytesType, pointer
	}
}

func wireOf(kind protoreflect.Kind) protowire.Type {
	wire, _ := wordsOf(kind)
	return wire
}

// sizeOf is what an empty message takes: the size of its Go type, as the allocator rounds it.
func sizeOf(descriptor protoreflect.MessageDescriptor) int {
	if descriptor.IsMapEntry() {
		return 0
	}
	found, err := protoregistry.GlobalTypes.FindMessageByName(descriptor.FullName())
	if err != nil {
		return unknownType
	}
	size := int(reflect.TypeOf(found.Zero().Interface()).Elem().Size())
	return allocated(size)
}

// allocated is what the allocator takes for n bytes: classes are at most an eighth apart, and multiples of 8.
func allocated(n int) int {
	if n == 0 {
		return 0
	}
	if n > 128 {
		n += n / 8
	}
	return (n + 15) &^ 15
}

func largest(m *messageType, seen map[*messageType]bool) int {
	if seen[m] {
		return 0
	}
	seen[m] = true
	most := m.size
	for _, field := range m.fields {
		if field.message != nil {
			most = max(most, largest(field.message, seen))
		}
	}
	return most
}
