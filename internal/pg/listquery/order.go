package listquery

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

const maxSortKeys = 8

// order is the order that the client requests, with the unique field at the end. The deprecated single key counts
// only without others.
func (s Schema) order(request *common.ListRequest) ([]Order, error) {
	keys, names := request.GetSortByFields(), "sort_by_fields[%d].key"
	if len(keys) == 0 && request.GetSortBy().GetKey() != "" { //nolint:staticcheck // the Python client sends this one only
		keys, names = []*common.Sort{request.GetSortBy()}, "sort_by.key" //nolint:staticcheck // deprecated, but clients send it
	}
	if len(keys) > maxSortKeys {
		return nil, rpc.InvalidArgument(s.path("sort_by_fields"), "at most %d sort keys are allowed, got %d", maxSortKeys, len(keys))
	}
	var out []Order
	seen := map[string]bool{}
	for i, key := range keys {
		path := names
		if strings.Contains(names, "%d") {
			path = fmt.Sprintf(names, i)
		}
		field, ok := s.Fields[key.GetKey()]
		if !ok || field.NoSort {
			return nil, rpc.InvalidArgument(s.path(path), "cannot sort by %q", key.GetKey())
		}
		if seen[key.GetKey()] {
			continue // a repeated key has no effect
		}
		seen[key.GetKey()] = true
		out = append(out, Order{Field: key.GetKey(), Desc: key.GetDirection() == common.Sort_DESCENDING})
	}
	if len(out) == 0 {
		out = append(out, s.Default...)
	}
	for _, key := range out {
		if key.Field == s.ID {
			return out, nil
		}
	}
	var last Order
	if len(out) > 0 {
		last = out[len(out)-1]
	}
	if then := s.Fields[last.Field].Then; then != "" && !seen[then] {
		out = append(out, Order{Field: then, Desc: last.Desc})
	}
	return append(out, Order{Field: s.ID, Desc: last.Desc}), nil
}

// late replaces NULL in sort keys by a plain value that can be compared and stored in a token.
const late = "timestamptz '9999-12-31 00:00:00+00'"

// sortExpr is the expression to sort by, never NULL.
func (f Field) sortExpr() string {
	if !f.Nullable {
		return f.Expr
	}
	switch f.Type {
	case Time:
		return "coalesce(" + f.Expr + ", " + late + ")"
	case Text:
		return "coalesce(" + f.Expr + ", '')"
	default:
		return "coalesce(" + f.Expr + ", 9223372036854775807)"
	}
}

// keyExpr is the sort value as text, without loss of precision.
func (f Field) keyExpr() string {
	switch f.Type {
	case Time:
		return "(extract(epoch FROM " + f.sortExpr() + ") * 1000000)::bigint::text"
	case Text:
		return f.sortExpr()
	default:
		return "(" + f.sortExpr() + ")::text"
	}
}

// parseKey parses the output of keyExpr.
func (f Field) parseKey(text string) (any, error) {
	if f.Type != Time {
		if f.Nullable && f.Type != Text {
			return strconv.ParseInt(text, 10, 64)
		}
		return Field{Type: f.Type}.parse(text)
	}
	micros, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, err
	}
	if micros < minMicros || micros > maxMicros {
		return nil, errToken
	}
	return time.UnixMicro(micros).UTC(), nil
}

// The years 1 and 9999, which Go, Postgres and the wire format can all represent.
const (
	minMicros = -62135596800 * 1_000_000
	maxMicros = 253402300799 * 1_000_000
)

func (f Field) keyType() string {
	if f.Nullable && f.Type != Text && f.Type != Time {
		return "bigint"
	}
	return f.Type.sqlType()
}

// after returns the condition that a row sorts after the values. If all keys have the same direction it is one row
// comparison, which a btree index serves directly.
func (s Schema) after(b *Builder, order []Order, values []any) string {
	exprs, params := make([]string, len(order)), make([]string, len(order))
	uniform := true
	for i, key := range order {
		field := s.Fields[key.Field]
		exprs[i] = field.sortExpr()
		params[i] = b.Arg(values[i], field.keyType())
		uniform = uniform && key.Desc == order[0].Desc
	}
	if uniform {
		return "(" + strings.Join(exprs, ", ") + ")" + sign(order[0].Desc) + "(" + strings.Join(params, ", ") + ")"
	}
	condition := ""
	for i := len(order) - 1; i >= 0; i-- {
		here := exprs[i] + sign(order[i].Desc) + params[i]
		if condition != "" {
			here = "(" + here + " OR (" + exprs[i] + " = " + params[i] + " AND " + condition + "))"
		}
		condition = here
	}
	return condition
}

func sign(desc bool) string {
	if desc {
		return " < "
	}
	return " > "
}
