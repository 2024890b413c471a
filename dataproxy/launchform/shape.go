package launchform

import (
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
)

// shape is what the JSON schema of a dataclass says about a value. The zero shape says nothing.
type shape struct {
	schema, root *structpb.Struct
}

func shapeOf(t *core.LiteralType) shape { return shape{t.GetMetadata(), t.GetMetadata()} }

// maxRefs bounds how many references and choices lead to a schema, since schemas may refer to themselves.
const maxRefs = 16

// variants are the schemas that may apply, behind references and choices.
func (s shape) variants() (found []*structpb.Struct) {
	var add func(schema *structpb.Struct, left int)
	add = func(schema *structpb.Struct, left int) {
		if schema == nil || left == 0 {
			return
		}
		if ref := text(schema, "$ref"); ref != "" {
			add(lookUp(s.root, ref), left-1)
			return
		}
		for _, key := range []string{"anyOf", "oneOf", "allOf"} {
			if several := field(schema, key).GetListValue(); several != nil {
				for _, one := range several.GetValues() {
					add(one.GetStructValue(), left-1)
				}
				return
			}
		}
		found = append(found, schema)
	}
	add(s.schema, maxRefs)
	return found
}

// lookUp follows a reference within the document, a JSON pointer. References to other documents say nothing.
func lookUp(root *structpb.Struct, ref string) *structpb.Struct {
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	for step := range strings.SplitSeq(path, "/") {
		root = field(root, strings.NewReplacer("~1", "/", "~0", "~").Replace(step)).GetStructValue()
	}
	return root
}

// has reports whether one of the variants has a type.
func (s shape) has(kind string) bool {
	for _, variant := range s.variants() {
		if text(variant, "type") == kind {
			return true
		}
		for _, one := range field(variant, "type").GetListValue().GetValues() {
			if one.GetStringValue() == kind {
				return true
			}
		}
	}
	return false
}

// only is the one variant that has a keyword; nil if none has it, or several.
func (s shape) only(keyword string) (found *structpb.Struct) {
	for _, variant := range s.variants() {
		if field(variant, keyword) == nil {
			continue
		}
		if found != nil {
			return nil
		}
		found = variant
	}
	return found
}

// isObject reports whether the value is a dataclass, for which the order of its fields does not matter.
func (s shape) isObject() bool { return s.only("properties") != nil }

// field is what the schema says about one field; item about the items of a list.
func (s shape) field(name string) shape {
	if properties := field(s.only("properties"), "properties").GetStructValue(); field(properties, name) != nil {
		return shape{field(properties, name).GetStructValue(), s.root}
	}
	return shape{field(s.only("additionalProperties"), "additionalProperties").GetStructValue(), s.root}
}

func (s shape) item() shape {
	return shape{field(s.only("items"), "items").GetStructValue(), s.root}
}
