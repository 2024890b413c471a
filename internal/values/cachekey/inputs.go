package cachekey

import (
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
)

// InputsHash is the hash of the inputs without those that the task ignores, and without the context of the inputs. A
// literal with a hash of its content counts by that hash, wherever its bytes are stored. No inputs have an empty hash.
func InputsHash(inputs *task.Inputs, ignored []string) string {
	var text []byte
	counted := 0
	for _, named := range inputs.GetLiterals() {
		if slices.Contains(ignored, named.GetName()) {
			continue
		}
		counted++
		text = append(append(text, named.GetName()...), ':')
		text = append(appendLiteral(text, named.GetValue()), ';')
	}
	if counted == 0 {
		return ""
	}
	return digest(text)
}

// noInputs represents the empty hash where the contract wants some text. No inputs have it.
var noInputs = digest(nil)

// OffloadedHash is InputsHash for uploaded inputs, whose hash is never empty in the contract. Key knows what it means.
func OffloadedHash(inputs *task.Inputs, ignored []string) string {
	if hash := InputsHash(inputs, ignored); hash != "" {
		return hash
	}
	return noInputs
}

// appendLiteral appends the parts of a literal that are hashed.
func appendLiteral(text []byte, literal *core.Literal) []byte {
	if literal.GetHash() != "" {
		return append(text, literal.GetHash()...)
	}
	switch value := literal.GetValue().(type) {
	case *core.Literal_Collection:
		for _, element := range value.Collection.GetLiterals() {
			text = appendLiteral(text, element)
		}
		return text
	case *core.Literal_Map:
		for _, name := range slices.Sorted(maps.Keys(value.Map.GetLiterals())) {
			text = appendLiteral(append(text, name...), value.Map.GetLiterals()[name])
		}
		return text
	default:
		return appendPlain(text, literal)
	}
}

// msgpackTag marks binaries that are msgpack.
const msgpackTag = "msgpack"

func appendPlain(text []byte, literal *core.Literal) []byte {
	if binary := literal.GetScalar().GetBinary(); binary.GetTag() == msgpackTag {
		if canonical := canonicalMsgpack(binary.GetValue()); !slices.Equal(canonical, binary.GetValue()) {
			literal = proto.CloneOf(literal)
			literal.GetScalar().GetBinary().Value = canonical
		}
	}
	return appendMessage(text, literal.ProtoReflect())
}
