// Package condition has the rules about conditions that more than one service applies.
package condition

import "github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"

// TypeRule says in an error which types TypeAllowed accepts.
const TypeRule = "must be a boolean, an integer, a float or a string"

// TypeAllowed reports whether a condition may be answered with a value of a type.
func TypeAllowed(t *core.LiteralType) bool {
	simple, ok := t.GetType().(*core.LiteralType_Simple)
	if !ok {
		return false
	}
	switch simple.Simple {
	case core.SimpleType_BOOLEAN, core.SimpleType_INTEGER, core.SimpleType_FLOAT, core.SimpleType_STRING:
		return true
	default:
		return false
	}
}
