package listquery

import (
	"fmt"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

const (
	labelPrefix = "labels."
	maxFilters  = 100
	maxValues   = 1000
)

// comparisons are the functions that compare with one value, except equality.
var comparisons = map[common.Filter_Function]string{
	common.Filter_GREATER_THAN:          ">",
	common.Filter_GREATER_THAN_OR_EQUAL: ">=",
	common.Filter_LESS_THAN:             "<",
	common.Filter_LESS_THAN_OR_EQUAL:    "<=",
}

// Filter adds the conditions of all filters, joined by AND.
func (s Schema) Filter(b *Builder, filters []*common.Filter) error {
	if len(filters) > maxFilters {
		return rpc.InvalidArgument(s.path("filters"), "at most %d filters are allowed, got %d", maxFilters, len(filters))
	}
	for i, filter := range filters {
		if err := s.filter(b, fmt.Sprintf("filters[%d]", i), filter); err != nil {
			return err
		}
	}
	return nil
}

func (s Schema) filter(b *Builder, at string, filter *common.Filter) error {
	name := filter.GetField()
	if key, ok := strings.CutPrefix(name, labelPrefix); ok && s.Labels != "" && key != "" {
		return s.labelFilter(b, at, key, filter)
	}
	if s.Extra != nil {
		if known, err := s.Extra(b, s.path(at), filter); known || err != nil {
			return err
		}
	}
	field, ok := s.Fields[name]
	if !ok {
		return rpc.InvalidArgument(s.path(at+".field"), "unknown field %q", name)
	}
	return s.compare(b, at, field, filter)
}

// Compare adds the condition of a filter on a field that has no place among the fields of a schema. at is the path of the
// filter in the request.
func Compare(b *Builder, at string, field Field, filter *common.Filter) error {
	return Schema{}.compare(b, at, field, filter)
}

func (s Schema) compare(b *Builder, at string, field Field, filter *common.Filter) error {
	values, err := s.values(at, field, filter)
	if err != nil {
		return err
	}
	condition, ok := field.condition(b, filter.GetFunction(), values)
	if !ok {
		return rpc.InvalidArgument(s.path(at+".function"), "field %q does not support %s", filter.GetField(), filter.GetFunction())
	}
	b.Where(condition)
	return nil
}

// values parses the values of a filter and checks their number.
func (s Schema) values(at string, field Field, filter *common.Filter) ([]any, error) {
	raw := filter.GetValues()
	if filter.GetFunction() == common.Filter_EQUAL && field.Names != nil && len(raw) > 1 {
		raw = joinDigits(raw)
	}
	if err := s.checkCount(at, filter.GetFunction(), len(raw)); err != nil {
		return nil, err
	}
	out := make([]any, 0, len(raw))
	for i, text := range raw {
		value, err := field.parse(text)
		if err != nil {
			return nil, rpc.InvalidArgument(s.path(fmt.Sprintf("%s.values[%d]", at, i)), "%s", err.Error())
		}
		out = append(out, value)
	}
	return out, nil
}

// joinDigits works around the Python client, which passes the text of a number where a list of strings is expected,
// so that the phase 10 arrives as the values "1" and "0". Equality has exactly one value, so joining is safe.
func joinDigits(values []string) []string {
	for _, value := range values {
		if len(value) != 1 || value[0] < '0' || value[0] > '9' {
			return values
		}
	}
	return []string{strings.Join(values, "")}
}

func (s Schema) checkCount(at string, function common.Filter_Function, count int) error {
	path := s.path(at + ".values")
	switch function {
	case common.Filter_VALUE_IN, common.Filter_VALUE_NOT_IN:
		if count == 0 || count > maxValues {
			return rpc.InvalidArgument(path, "%s takes from 1 to %d values, got %d", function, maxValues, count)
		}
	case common.Filter_EXISTS, common.Filter_NOT_EXISTS:
		if count != 0 {
			return rpc.InvalidArgument(path, "%s takes no values, got %d", function, count)
		}
	default:
		if count != 1 {
			return rpc.InvalidArgument(path, "%s takes one value, got %d", function, count)
		}
	}
	return nil
}

// condition returns one comparison; false when the field does not support the function.
func (f Field) condition(b *Builder, function common.Filter_Function, values []any) (string, bool) {
	if operator, ok := comparisons[function]; ok && f.Type != Bool {
		return f.Expr + " " + operator + " " + b.Arg(values[0], f.Type.sqlType()), true
	}
	switch function {
	case common.Filter_EQUAL:
		return f.Expr + " = " + b.Arg(values[0], f.Type.sqlType()), true
	case common.Filter_NOT_EQUAL:
		return f.Expr + f.unequal() + b.Arg(values[0], f.Type.sqlType()), true
	case common.Filter_VALUE_IN:
		if len(values) == 1 {
			return f.Expr + " = " + b.Arg(values[0], f.Type.sqlType()), true
		}
		return f.Expr + " = ANY(" + b.Arg(f.array(values), f.Type.sqlType()+"[]") + ")", true
	case common.Filter_VALUE_NOT_IN:
		condition := f.Expr + " <> ALL(" + b.Arg(f.array(values), f.Type.sqlType()+"[]") + ")"
		if f.Nullable {
			condition = "(" + f.Expr + " IS NULL OR " + condition + ")"
		}
		return condition, true
	case common.Filter_EXISTS:
		return f.present(false)
	case common.Filter_NOT_EXISTS:
		return f.present(true)
	default:
		if f.Type != Text {
			return "", false
		}
		return like(b, f.Expr, function, values[0].(string)) //nolint:forcetypeassert // the field is a text
	}
}

func (f Field) unequal() string {
	if f.Nullable {
		return " IS DISTINCT FROM "
	}
	return " <> "
}

func (f Field) present(missing bool) (string, bool) {
	switch {
	case f.Nullable && missing:
		return f.Expr + " IS NULL", true
	case f.Nullable:
		return f.Expr + " IS NOT NULL", true
	case f.Type == Text && missing:
		return f.Expr + " = ''", true
	case f.Type == Text:
		return f.Expr + " <> ''", true
	default:
		return "", false
	}
}

var likeEscapes = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

// like returns the substring functions; false for any other function.
func like(b *Builder, expr string, function common.Filter_Function, value string) (string, bool) {
	escaped := likeEscapes.Replace(value)
	switch function {
	case common.Filter_CONTAINS:
		return expr + " LIKE " + b.Arg("%"+escaped+"%", "text"), true
	case common.Filter_CONTAINS_CASE_INSENSITIVE:
		return expr + " ILIKE " + b.Arg("%"+escaped+"%", "text"), true
	case common.Filter_ENDS_WITH:
		return expr + " LIKE " + b.Arg("%"+escaped, "text"), true
	case common.Filter_NOT_ENDS_WITH:
		return expr + " NOT LIKE " + b.Arg("%"+escaped, "text"), true
	default:
		return "", false
	}
}
