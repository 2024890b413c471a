package listquery

import (
	"encoding/json"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// labelFilter adds a condition on one label. Equality and existence use the operators that a GIN index on the column
// supports. A negated function holds if the label is missing.
func (s Schema) labelFilter(b *Builder, at, key string, filter *common.Filter) error {
	if strings.ContainsRune(key, 0) {
		return rpc.InvalidArgument(s.path(at+".field"), "a label must not contain NUL")
	}
	function := filter.GetFunction()
	values, err := s.values(at, Field{Type: Text}, filter)
	if err != nil {
		return err
	}
	condition, ok := s.labelCondition(b, key, function, values)
	if !ok {
		return rpc.InvalidArgument(s.path(at+".function"), "a label does not support %s", function)
	}
	b.Where(condition)
	return nil
}

func (s Schema) labelCondition(b *Builder, key string, function common.Filter_Function, values []any) (string, bool) {
	is := func(value any) string {
		// Built in Go and not in SQL, so that the planner sees the value and its frequency.
		pair, err := json.Marshal(map[string]any{key: value})
		if err != nil {
			panic(err) // texts always have a JSON form
		}
		return s.Labels + " @> " + b.Arg(string(pair), "jsonb")
	}
	in := func() string {
		alternatives := make([]string, 0, len(values))
		for _, value := range values {
			alternatives = append(alternatives, is(value))
		}
		return "(" + strings.Join(alternatives, " OR ") + ")"
	}
	switch function {
	case common.Filter_EQUAL:
		return is(values[0]), true
	case common.Filter_NOT_EQUAL:
		return "NOT " + is(values[0]), true
	case common.Filter_VALUE_IN:
		return in(), true
	case common.Filter_VALUE_NOT_IN:
		return "NOT " + in(), true
	case common.Filter_EXISTS:
		return s.Labels + " ? " + b.Arg(key, "text"), true
	case common.Filter_NOT_EXISTS:
		return "NOT " + s.Labels + " ? " + b.Arg(key, "text"), true
	case common.Filter_NOT_ENDS_WITH:
		// A missing label counts as an empty suffix; NULL would drop the row.
		expr := "coalesce(" + s.Labels + "->>" + b.Arg(key, "text") + ", '')"
		return like(b, expr, function, values[0].(string)) //nolint:forcetypeassert // labels are texts
	default:
		return like(b, "("+s.Labels+"->>"+b.Arg(key, "text")+")", function, values[0].(string)) //nolint:forcetypeassert // labels are texts
	}
}
