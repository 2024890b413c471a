// Package list turns the list requests of the wire contract into SQL fragments: which fields a client may filter and
// sort by, how their values are parsed, and how one page continues the last. It knows SQL text but no database; the
// stores give it their tables of fields and run what it builds.
//
// Paging is by keyset: a page token carries the sort values of the last row shown, so a page costs the same however
// deep it lies, and rows that change between two pages are neither skipped nor shown twice unless their own sort
// value moved. Values reach the database only as typed parameters, never as text inside a statement.
package list

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

// sqlType is the type to which parameters are cast, so that the server never has to guess.
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

// Field is one name of the wire contract: what it means in the database and what clients may do with it.
type Field struct {
	// Expr is the SQL expression, a column as a rule.
	Expr string
	// Type is how values are read.
	Type Type
	// Nullable fields may be NULL. They sort as if they were later or greater than everything.
	Nullable bool
	// Names maps lower-case names to numbers, for enumerations. Numbers are accepted all the same.
	Names map[string]int64
	// NoSort fields can only be filtered by.
	NoSort bool
}

// Schema is what one list offers.
type Schema struct {
	// Fields by their name on the wire.
	Fields map[string]Field
	// Labels is the jsonb column behind the fields labels.<key>; empty when the list has none.
	Labels string
	// ID is the field that is unique and breaks ties. It is one of Fields.
	ID string
	// Default is the order when the client names none.
	Default []Order
	// DefaultLimit and MaxLimit bound a page; zero means 50 and 200.
	DefaultLimit, MaxLimit int
	// Prefix stands before the names of the request's fields in errors, such as "request.".
	Prefix string
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
