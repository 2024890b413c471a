package listquery_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// FuzzToken decodes page tokens: each is either refused as an invalid argument or yields typed parameters.
func FuzzToken(f *testing.F) {
	q, err := schema.Compile(listquery.Builder{}, nil, nil)
	require.NoError(f, err)
	for _, keys := range [][]string{{"1000000", "7"}, {"-62135596800000000", "-9223372036854775808"}, {"", ""}, {"1"}, {"1", "2", "3"}, {"99999999999999999999", "x"}} {
		f.Add(q.Token(keys))
	}
	f.Add("50")
	f.Add("AQ")
	f.Fuzz(func(t *testing.T, token string) {
		q, err := schema.Compile(listquery.Builder{}, nil, &common.ListRequest{Token: token})
		if err != nil {
			require.Equal(t, rpc.KindInvalidArgument, rpc.KindOf(err))
			return
		}
		if token != "" {
			require.Len(t, q.Args(), 2)
		}
	})
}

// FuzzFilter compiles filters: values must never become part of the SQL text.
func FuzzFilter(f *testing.F) {
	f.Add(int32(0), "name", "x", "y", 1)
	f.Add(int32(7), "phase", "1", "0", 2)
	f.Add(int32(15), "labels.team", "", "", 0)
	f.Add(int32(6), "name", `%_\'; DROP TABLE actions; --`, "", 1)
	f.Add(int32(3), "created_at", "2026-01-02T03:04:05+00:00", "", 1)
	f.Add(int32(0), "labels.a'b$1", "v", "", 1)
	f.Fuzz(func(t *testing.T, function int32, field, one, two string, count int) {
		values := []string{"Zq" + one, "Zq" + two}[:min(max(count, 0), 2)]
		var b listquery.Builder
		err := schema.Filter(&b, []*common.Filter{filter(common.Filter_Function(function), field, values...)})
		if err != nil {
			require.Equal(t, rpc.KindInvalidArgument, rpc.KindOf(err))
			return
		}
		require.NotContains(t, b.Conditions(), "Zq")
		if key, ok := strings.CutPrefix(field, "labels."); ok && len(key) > 8 {
			require.NotContains(t, b.Conditions(), key)
		}
	})
}

// FuzzExpression parses the text form of filters: it terminates and never panics.
func FuzzExpression(f *testing.F) {
	for _, text := range []string{"eq(a,b)", "eq(a,b)+ne(c,d)", "value_in(a,b;c)", "((((", "))))", "eq(a,(b)", "+", "eq(,)", "é(ü,ß)"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		filters, err := listquery.ParseExpression("filters", text)
		if err != nil {
			require.Equal(t, rpc.KindInvalidArgument, rpc.KindOf(err))
			return
		}
		for _, filter := range filters {
			require.NotEmpty(t, filter.GetValues())
		}
	})
}
