package listquery

import (
	"slices"
	"strconv"
	"strings"
)

// Builder collects the conditions of a statement and their parameters.
type Builder struct {
	conditions []string
	args       []any
}

// Arg adds a parameter and returns its placeholder, cast to the SQL type.
func (b *Builder) Arg(value any, sqlType string) string {
	b.args = append(b.args, value)
	return "$" + strconv.Itoa(len(b.args)) + "::" + sqlType
}

// Where adds a condition that has no parameters or whose placeholders came from Arg.
func (b *Builder) Where(condition string) {
	b.conditions = append(b.conditions, condition)
}

// Equal adds column = value for a text column.
func (b *Builder) Equal(column, value string) {
	b.Where(column + " = " + b.Arg(value, "text"))
}

// Conditions joins all conditions; "true" when there are none.
func (b *Builder) Conditions() string {
	if len(b.conditions) == 0 {
		return "true"
	}
	return strings.Join(b.conditions, " AND ")
}

// Args returns the parameters in order.
func (b *Builder) Args() []any { return b.args }

// Continue makes the builder number its parameters after those of another builder; TakeArgs returns them to that
// builder.
func (b *Builder) Continue(other *Builder) { b.args = slices.Clone(other.args) }

// TakeArgs appends the parameters of a builder that continued this one; its conditions stay separate.
func (b *Builder) TakeArgs(other *Builder) { b.args = other.args }
