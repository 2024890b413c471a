package listquery_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

var schema = listquery.Schema{
	Fields: map[string]listquery.Field{
		"id":         {Expr: "t.id", Type: listquery.BigInt},
		"name":       {Expr: "t.name", Type: listquery.Text},
		"parent":     {Expr: "t.parent", Type: listquery.Text, Nullable: true},
		"phase":      {Expr: "t.phase", Type: listquery.Small, Names: listquery.EnumNames(common.ActionPhase_value, "ACTION_PHASE_")},
		"attempts":   {Expr: "t.attempt", Type: listquery.Int},
		"created_at": {Expr: "t.created_at", Type: listquery.Time},
		"ended_at":   {Expr: "t.ended_at", Type: listquery.Time, Nullable: true},
		"entry":      {Expr: "t.entry", Type: listquery.Bool},
		"secret":     {Expr: "t.secret", Type: listquery.Text, NoSort: true},
	},
	Labels:  "t.labels",
	ID:      "id",
	Default: []listquery.Order{{Field: "created_at", Desc: true}},
	Prefix:  "request.",
}

func filter(function common.Filter_Function, field string, values ...string) *common.Filter {
	return &common.Filter{Function: function, Field: field, Values: values}
}

func TestFilterConditions(t *testing.T) {
	at := time.Date(2026, time.March, 4, 5, 6, 7, 8000, time.UTC)
	for _, test := range []struct {
		name   string
		filter *common.Filter
		sql    string
		args   []any
	}{
		{"equal", filter(common.Filter_EQUAL, "name", "x"), "t.name = $1::text", []any{"x"}},
		{"not equal", filter(common.Filter_NOT_EQUAL, "name", "x"), "t.name <> $1::text", []any{"x"}},
		{"not equal, nullable", filter(common.Filter_NOT_EQUAL, "parent", "x"), "t.parent IS DISTINCT FROM $1::text", []any{"x"}},
		{"greater", filter(common.Filter_GREATER_THAN, "attempts", "3"), "t.attempt > $1::integer", []any{int64(3)}},
		{"phase by number", filter(common.Filter_EQUAL, "phase", "6"), "t.phase = $1::smallint", []any{int64(6)}},
		{"phase by name", filter(common.Filter_EQUAL, "phase", "failed"), "t.phase = $1::smallint", []any{int64(6)}},
		{"phase by whole name", filter(common.Filter_EQUAL, "phase", "ACTION_PHASE_FAILED"), "t.phase = $1::smallint", []any{int64(6)}},
		{"phase as a list of characters", filter(common.Filter_EQUAL, "phase", "1", "0"), "t.phase = $1::smallint", []any{int64(10)}},
		{"one value in", filter(common.Filter_VALUE_IN, "phase", "6"), "t.phase = $1::smallint", []any{int64(6)}},
		{"values in", filter(common.Filter_VALUE_IN, "phase", "1", "0"), "t.phase = ANY($1::smallint[])", []any{[]int64{1, 0}}},
		{"values not in", filter(common.Filter_VALUE_NOT_IN, "name", "a"), "t.name <> ALL($1::text[])", []any{[]string{"a"}}},
		{
			"values not in, nullable", filter(common.Filter_VALUE_NOT_IN, "parent", "a"),
			"(t.parent IS NULL OR t.parent <> ALL($1::text[]))", []any{[]string{"a"}},
		},
		{"contains", filter(common.Filter_CONTAINS, "name", `50%_\`), "t.name LIKE $1::text", []any{`%50\%\_\\%`}},
		{"contains in any case", filter(common.Filter_CONTAINS_CASE_INSENSITIVE, "name", "Ab"), "t.name ILIKE $1::text", []any{"%Ab%"}},
		{"ends with", filter(common.Filter_ENDS_WITH, "name", "_x"), "t.name LIKE $1::text", []any{`%\_x`}},
		{"not ends with", filter(common.Filter_NOT_ENDS_WITH, "name", "x"), "t.name NOT LIKE $1::text", []any{"%x"}},
		{"exists", filter(common.Filter_EXISTS, "ended_at"), "t.ended_at IS NOT NULL", nil},
		{"not exists", filter(common.Filter_NOT_EXISTS, "name"), "t.name = ''", nil},
		{"bool", filter(common.Filter_EQUAL, "entry", "true"), "t.entry = $1::boolean", []any{true}},
		{"time with zone", filter(common.Filter_LESS_THAN, "created_at", "2026-03-04T07:06:07.000008+02:00"), "t.created_at < $1::timestamptz", []any{at}},
		{"time without zone", filter(common.Filter_LESS_THAN, "created_at", "2026-03-04T05:06:07.000008"), "t.created_at < $1::timestamptz", []any{at}},
		{"label equal", filter(common.Filter_EQUAL, "labels.a.b/c", `d"`), "t.labels @> $1::jsonb", []any{`{"a.b/c":"d\""}`}},
		{"label not equal", filter(common.Filter_NOT_EQUAL, "labels.a", "b"), "NOT t.labels @> $1::jsonb", []any{`{"a":"b"}`}},
		{"label exists", filter(common.Filter_EXISTS, "labels.a"), "t.labels ? $1::text", []any{"a"}},
		{"label missing", filter(common.Filter_NOT_EXISTS, "labels.a"), "NOT t.labels ? $1::text", []any{"a"}},
		{
			"label in", filter(common.Filter_VALUE_IN, "labels.a", "b", "c"),
			"(t.labels @> $1::jsonb OR t.labels @> $2::jsonb)", []any{`{"a":"b"}`, `{"a":"c"}`},
		},
		{"label contains", filter(common.Filter_CONTAINS, "labels.a", "b"), "(t.labels->>$1::text) LIKE $2::text", []any{"a", "%b%"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b listquery.Builder
			require.NoError(t, schema.Filter(&b, []*common.Filter{test.filter}))
			require.Equal(t, test.sql, b.Conditions())
			require.Equal(t, test.args, b.Args())
		})
	}
}

func TestRefusals(t *testing.T) {
	good := filter(common.Filter_EQUAL, "name", "x")
	for _, test := range []struct {
		name    string
		request *common.ListRequest
		field   string
	}{
		{"unknown field", &common.ListRequest{Filters: []*common.Filter{good, filter(common.Filter_EQUAL, "nope", "x")}}, "request.filters[1].field"},
		{"label without key", &common.ListRequest{Filters: []*common.Filter{filter(common.Filter_EXISTS, "labels.")}}, "request.filters[0].field"},
		{"label with NUL", &common.ListRequest{Filters: []*common.Filter{filter(common.Filter_EXISTS, "labels.\x00")}}, "request.filters[0].field"},
		{"unknown function", &common.ListRequest{Filters: []*common.Filter{filter(99, "name", "x")}}, "request.filters[0].function"},
		{"text function on a number", &common.ListRequest{Filters: []*common.Filter{filter(common.Filter_CONTAINS, "phase", "1")}}, "request.filters[0].function"},
		{"comparison of a label", &common.ListRequest{Filters: []*common.Filter{filter(common.Filter_LESS_THAN, "labels.a", "1")}}, "request.filters[0].function"},
		{"comparison of a bool", &common.ListRequest{Filters: []*common.Filter{filter(common.Filter_LESS_THAN, "entry", "true")}}, "request.filters[0].function"},
		{"existence of a number", &common.ListRequest{Filters: []*common.Filter{filter(common.Filter_EXISTS, "phase")}}, "request.filters[0].function"},
		{"no value", &common.ListRequest{Filters: []*common.Filter{filter(common.Filter_EQUAL, "name")}}, "request.filters[0].values"},
		{"two values", &common.ListRequest{Filters: []*common.Filter{filter(common.Filter_EQUAL, "name", "a", "b")}}, "request.filters[0].values"},
		{"no values in", &common.ListRequest{Filters: []*common.Filter{filter(common.Filter_VALUE_IN, "name")}}, "request.filters[0].values"},
		{"value of existence", &common.ListRequest{Filters: []*common.Filter{filter(common.Filter_EXISTS, "name", "x")}}, "request.filters[0].values"},
		{"not a number", &common.ListRequest{Filters: []*common.Filter{filter(common.Filter_VALUE_IN, "phase", "1", "x")}}, "request.filters[0].values[1]"},
		{"number out of range", &common.ListRequest{Filters: []*common.Filter{filter(common.Filter_EQUAL, "phase", "70000")}}, "request.filters[0].values[0]"},
		{"not a time", &common.ListRequest{Filters: []*common.Filter{filter(common.Filter_EQUAL, "created_at", "noon")}}, "request.filters[0].values[0]"},
		{"NUL", &common.ListRequest{Filters: []*common.Filter{filter(common.Filter_EQUAL, "name", "a\x00")}}, "request.filters[0].values[0]"},
		{"too many filters", &common.ListRequest{Filters: make([]*common.Filter, 101)}, "request.filters"},
		{"raw filters", &common.ListRequest{RawFilters: []string{"eq(a,b)"}}, "request.raw_filters"},
		{"limit", &common.ListRequest{Limit: 201}, "request.limit"},
		{"huge limit", &common.ListRequest{Limit: 1<<32 - 1}, "request.limit"},
		{"sort", &common.ListRequest{SortBy: &common.Sort{Key: "nope"}}, "request.sort_by.key"},
		{"sort by what can only be filtered", &common.ListRequest{SortBy: &common.Sort{Key: "secret"}}, "request.sort_by.key"},
		{"sort fields", &common.ListRequest{SortByFields: []*common.Sort{{Key: "name"}, {Key: "nope"}}}, "request.sort_by_fields[1].key"},
		{"token", &common.ListRequest{Token: "50"}, "request.token"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := schema.Compile(listquery.Builder{}, nil, test.request)
			require.Equal(t, rpc.KindInvalidArgument, rpc.KindOf(err))
			var refusal *rpc.Error
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, test.field, refusal.Field)
		})
	}
}

func TestOrder(t *testing.T) {
	for _, test := range []struct {
		name    string
		request *common.ListRequest
		order   string
	}{
		{"default", nil, "t.created_at DESC, t.id DESC"},
		{"deprecated key", &common.ListRequest{SortBy: &common.Sort{Key: "created_at", Direction: common.Sort_ASCENDING}}, "t.created_at, t.id"},
		{"no key", &common.ListRequest{SortBy: &common.Sort{Direction: common.Sort_ASCENDING}}, "t.created_at DESC, t.id DESC"},
		{
			"keys win over the deprecated one",
			&common.ListRequest{SortBy: &common.Sort{Key: "name"}, SortByFields: []*common.Sort{{Key: "phase", Direction: common.Sort_ASCENDING}, {Key: "created_at"}, {Key: "phase"}}},
			"t.phase, t.created_at DESC, t.id DESC",
		},
		{"id", &common.ListRequest{SortBy: &common.Sort{Key: "id"}}, "t.id DESC"},
		{
			"nullable", &common.ListRequest{SortBy: &common.Sort{Key: "ended_at", Direction: common.Sort_ASCENDING}},
			"coalesce(t.ended_at, timestamptz '9999-12-31 00:00:00+00'), t.id",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			q, err := schema.Compile(listquery.Builder{}, nil, test.request)
			require.NoError(t, err)
			require.Equal(t, test.order, q.OrderBy())
		})
	}
}

func TestPageConditions(t *testing.T) {
	request := &common.ListRequest{Limit: 2, Filters: []*common.Filter{filter(common.Filter_EQUAL, "name", "x")}}
	q, err := schema.Compile(listquery.Builder{}, []string{"scope"}, request)
	require.NoError(t, err)
	rows, token := listquery.Page(q, []string{"a", "b", "c"}, func(row string) []string { return []string{"1000000", "7"} })
	require.Equal(t, []string{"a", "b"}, rows)
	require.NotEmpty(t, token)

	request.Token = token
	next, err := schema.Compile(listquery.Builder{}, []string{"scope"}, request)
	require.NoError(t, err)
	require.Equal(t, "t.name = $1::text AND (t.created_at, t.id) < ($2::timestamptz, $3::bigint)", next.Conditions())
	require.Equal(t, []any{"x", time.Unix(1, 0).UTC(), int64(7)}, next.Args())
	require.Equal(t, "t.name = $1::text", next.Unpaged().Conditions())
	rows, token = listquery.Page(next, []string{"d"}, nil)
	require.Equal(t, []string{"d"}, rows)
	require.Empty(t, token, "the last page has no successor")

	t.Run("keys that run in different directions", func(t *testing.T) {
		request := &common.ListRequest{SortByFields: []*common.Sort{{Key: "phase", Direction: common.Sort_ASCENDING}, {Key: "created_at"}}}
		q, err := schema.Compile(listquery.Builder{}, nil, request)
		require.NoError(t, err)
		request.Token = q.Token([]string{"4", "1000000", "7"})
		next, err := schema.Compile(listquery.Builder{}, nil, request)
		require.NoError(t, err)
		require.Equal(t, "(t.phase > $1::smallint OR (t.phase = $1::smallint AND "+
			"(t.created_at < $2::timestamptz OR (t.created_at = $2::timestamptz AND t.id < $3::bigint))))", next.Conditions())
	})
}

func TestTokenBelongsToItsQuery(t *testing.T) {
	base := func() *common.ListRequest {
		return &common.ListRequest{Filters: []*common.Filter{filter(common.Filter_VALUE_IN, "name", "ab", "c")}}
	}
	q, err := schema.Compile(listquery.Builder{}, []string{"p", "d"}, base())
	require.NoError(t, err)
	token := q.Token([]string{"1000000", "7"})
	for name, test := range map[string]struct {
		scope  []string
		change func(*common.ListRequest)
		fine   bool
	}{
		"same":                    {[]string{"p", "d"}, func(*common.ListRequest) {}, true},
		"other limit":             {[]string{"p", "d"}, func(r *common.ListRequest) { r.Limit = 7 }, true},
		"other scope":             {[]string{"p", "e"}, func(*common.ListRequest) {}, false},
		"scope cut elsewhere":     {[]string{"pd", ""}, func(*common.ListRequest) {}, false},
		"other values":            {[]string{"p", "d"}, func(r *common.ListRequest) { r.Filters[0].Values = []string{"a", "bc"} }, false},
		"other function":          {[]string{"p", "d"}, func(r *common.ListRequest) { r.Filters[0].Function = common.Filter_VALUE_NOT_IN }, false},
		"no filter":               {[]string{"p", "d"}, func(r *common.ListRequest) { r.Filters = nil }, false},
		"other order":             {[]string{"p", "d"}, func(r *common.ListRequest) { r.SortBy = &common.Sort{Key: "created_at", Direction: 1} }, false},
		"cut":                     {[]string{"p", "d"}, func(r *common.ListRequest) { r.Token = token[:len(token)-2] }, false},
		"longer":                  {[]string{"p", "d"}, func(r *common.ListRequest) { r.Token = token + "AAAA" }, false},
		"other bits":              {[]string{"p", "d"}, func(r *common.ListRequest) { r.Token = "B" + token[1:] }, false},
		"standard base64 padding": {[]string{"p", "d"}, func(r *common.ListRequest) { r.Token = token + "=" }, false},
		"too long":                {[]string{"p", "d"}, func(r *common.ListRequest) { r.Token = strings.Repeat("A", 1<<20) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			request := base()
			request.Token = token
			test.change(request)
			_, err := schema.Compile(listquery.Builder{}, test.scope, request)
			if test.fine {
				require.NoError(t, err)
				return
			}
			require.Equal(t, rpc.KindInvalidArgument, rpc.KindOf(err))
			require.ErrorContains(t, err, "request.token")
		})
	}
}

func TestParseExpression(t *testing.T) {
	for _, test := range []struct {
		text    string
		filters []*common.Filter
	}{
		{"", nil},
		{"  ", nil},
		{"eq(state, 0)", []*common.Filter{filter(common.Filter_EQUAL, "state", "0")}},
		{"contains(name,a+b)+eq(state, 1)", []*common.Filter{filter(common.Filter_CONTAINS, "name", "a+b"), filter(common.Filter_EQUAL, "state", "1")}},
		{"value_in(id, a;b ; c) + NE(name, x)", []*common.Filter{filter(common.Filter_VALUE_IN, "id", "a", "b", "c"), filter(common.Filter_NOT_EQUAL, "name", "x")}},
		{"eq(name, f(x), y)", []*common.Filter{filter(common.Filter_EQUAL, "name", "f(x), y")}},
	} {
		t.Run(test.text, func(t *testing.T) {
			filters, err := listquery.ParseExpression("filters", test.text)
			require.NoError(t, err)
			require.Equal(t, test.filters, filters)
		})
	}
	for _, text := range []string{"eq", "eq(", "eq(a", "eq(a)", "eq)", "foo(a,b)", "eq(a,b)eq(c,d)", "eq(a,b)+", "+eq(a,b)", "eq(a,b)+c", ")("} {
		t.Run("refuse "+text, func(t *testing.T) {
			_, err := listquery.ParseExpression("filters", text)
			require.Equal(t, rpc.KindInvalidArgument, rpc.KindOf(err))
			require.ErrorContains(t, err, "filters: ")
		})
	}
}
