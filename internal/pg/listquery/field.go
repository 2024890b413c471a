// Package listquery compiles the list requests of the wire contract to SQL fragments: it defines which fields clients
// may filter and sort by, how their values are parsed, and how a page continues the previous one. It has no access to
// the database; the stores pass in their fields and run the result.
//
// Paging is by keyset: a page token carries the sort values of the last row shown. So a page costs the same at any
// depth, and rows that change between two pages are neither skipped nor repeated unless their own sort values change.
// Values reach the database only as typed parameters, never as text of a statement.
package listquery

import "github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"

// Type says how the values of a field are parsed and bound.
type Type uint8

// The types of fields.
const (
	Text   Type = iota + 1 // any text without NUL
	Small                  // smallint; a number, or a name of Field.Names
	Int                    // integer
	BigInt                 // bigint
	Time                   // timestamptz; RFC 3339 on the wire
	Bool                   // true or false
)

// sqlType is the type to which parameters are cast, so that the server never infers one.
func (t Type) sqlType() string {
	switch t {
	case Small:
		return "smallint"
	case Int:
		return "integer"
	case BigInt:
		return "bigint"
	case Time:
		return "timestamptz"
	case Bool:
		return "boolean"
	default:
		return "text"
	}
}

// Field is a field name of the wire contract: its SQL expression and what clients may do with it.
type Field struct {
	// Expr is the SQL expression, usually a column.
	Expr string
	// Type is how values are parsed.
	Type Type
	// Nullable fields may be NULL. NULL sorts after every value.
	Nullable bool
	// Names maps lower-case names of an enumeration to numbers. Numbers are accepted too.
	Names map[string]int64
	// NoSort fields can be filtered by, but not sorted by.
	NoSort bool
	// Then is the field that orders rows with the same value, before the ID, in a list that is sorted by this field last. An index
	// has the rows in that order; empty if there is no such index.
	Then string
}

// Schema defines the fields and defaults of one list.
type Schema struct {
	// Fields has the fields by their name on the wire.
	Fields map[string]Field
	// Labels is the jsonb column behind the fields labels.<key>; empty when the list has none.
	Labels string
	// ID is the unique field that breaks ties. It is one of Fields.
	ID string
	// Default is the order when the client requests none.
	Default []Order
	// DefaultLimit and MaxLimit bound a page; zero means 50 and 200.
	DefaultLimit, MaxLimit int
	// Prefix precedes the names of the request's fields in errors, such as "request.".
	Prefix string
	// Extra compiles filters that Fields cannot describe. at is the path of the filter in the request. It reports whether
	// the filter is one of those; nil when there are none.
	Extra func(b *Builder, at string, filter *common.Filter) (bool, error)
}

// Order is one sort key.
type Order struct {
	Field string
	Desc  bool
}

func (s Schema) limits() (standard, highest int) {
	standard, highest = s.DefaultLimit, s.MaxLimit
	if standard == 0 {
		standard = 50
	}
	if highest == 0 {
		highest = 200
	}
	return standard, highest
}

func (s Schema) path(rest string) string { return s.Prefix + rest }
