package list

import (
	"slices"
	"strconv"
	"strings"
)

// Builder gathers the conditions of a statement and their parameters.
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

// Conditions is all conditions joined; "true" when there are none.
func (b *Builder) Conditions() string {
	if len(b.conditions) == 0 {
		return "true"
	}
	return strings.Join(b.conditions, " AND ")
}

// Args are the parameters in order.
func (b *Builder) Args() []any { return b.args }

// Continue makes the builder number its parameters after those of another, which get them back by TakeArgs.
func (b *Builder) Continue(other *Builder) { b.args = slices.Clone(other.args) }

// TakeArgs takes over the parameters of a builder that continued this one; its conditions stay apart.
func (b *Builder) TakeArgs(other *Builder) { b.args = other.args }
