package listquery

import (
	"slices"
	"strconv"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Query is a compiled list request. Put Select's columns first, then Tail, and read one row more than Limit to learn
// whether there is another page.
type Query struct {
	Builder
	// Limit is the number of rows of the page.
	Limit int

	schema      Schema
	order       []Order
	fingerprint fingerprint
	unpaged     Builder
	after       string
}

// Compile validates a list request and builds its query. The builder b holds the conditions of the scope; scope names
// them in the page token, so that a token of one scope is refused in another.
func (s Schema) Compile(b Builder, scope []string, request *common.ListRequest) (*Query, error) {
	if len(request.GetRawFilters()) > 0 {
		return nil, rpc.InvalidArgument(s.path("raw_filters"), "raw filters are not supported; use filters")
	}
	limit, highest := s.limits()
	if asked := request.GetLimit(); asked > 0 {
		if int64(asked) > int64(highest) {
			return nil, rpc.InvalidArgument(s.path("limit"), "must be at most %d, got %d", highest, asked)
		}
		limit = int(asked)
	}
	order, err := s.order(request)
	if err != nil {
		return nil, err
	}
	q := &Query{Builder: b, Limit: limit, schema: s, order: order}
	if err := s.Filter(&q.Builder, request.GetFilters()); err != nil {
		return nil, err
	}
	q.fingerprint = fingerprintOf(scope, request.GetFilters(), order)
	q.unpaged = Builder{conditions: slices.Clip(q.conditions), args: slices.Clip(q.args)}
	if request.GetToken() == "" {
		return q, nil
	}
	values, err := q.parseToken(request.GetToken())
	if err != nil {
		return nil, rpc.InvalidArgument(s.path("token"), "%s", err.Error())
	}
	q.after = s.after(&q.Builder, order, values)
	q.Where(q.after)
	return q, nil
}

func (q *Query) parseToken(token string) ([]any, error) {
	keys, err := decodeToken(token, q.fingerprint, len(q.order))
	if err != nil {
		return nil, err
	}
	values := make([]any, len(keys))
	for i, key := range keys {
		if values[i], err = q.schema.Fields[q.order[i].Field].parseKey(key); err != nil {
			return nil, errToken
		}
	}
	return values, nil
}

// Keys is the column that Token needs: an array of the row's sort values.
func (q *Query) Keys() string {
	exprs := make([]string, 0, len(q.order))
	for _, key := range q.order {
		exprs = append(exprs, q.schema.Fields[key.Field].keyExpr())
	}
	return "ARRAY[" + strings.Join(exprs, ", ") + "]"
}

// Tail is the rest of the statement: conditions, order, and a limit of one row more than the page.
func (q *Query) Tail() string {
	return " WHERE " + q.Conditions() + " ORDER BY " + q.OrderBy() + " LIMIT " + strconv.Itoa(q.Limit+1)
}

// Unpaged returns the conditions and parameters of the whole list, ignoring the page token.
func (q *Query) Unpaged() *Builder { return &q.unpaged }

// After is the condition that rows sort after the previous page; empty on the first page.
func (q *Query) After() string { return q.after }

// Order are the sort keys; the last is the unique one.
func (q *Query) Order() []Order { return q.order }

// OrderBy returns the list of sort expressions.
func (q *Query) OrderBy() string {
	terms := make([]string, 0, len(q.order))
	for _, key := range q.order {
		term := q.schema.Fields[key.Field].sortExpr()
		if key.Desc {
			term += " DESC"
		}
		terms = append(terms, term)
	}
	return strings.Join(terms, ", ")
}

// Token returns the token of the page after the row with these sort values.
func (q *Query) Token(keys []string) string { return encodeToken(q.fingerprint, keys) }

// Page trims the rows to the page and returns the token of the next page, which is empty on the last. keys returns a
// row's sort values.
func Page[T any](q *Query, rows []T, keys func(T) []string) ([]T, string) {
	if len(rows) <= q.Limit {
		return rows, ""
	}
	rows = rows[:q.Limit]
	return rows, q.Token(keys(rows[q.Limit-1]))
}
