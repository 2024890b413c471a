package listquery_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// TestNumberedPages reads a list in pages, each after the number of the last row before.
func TestNumberedPages(t *testing.T) {
	var pages [][]int64
	for token := ""; ; {
		before, err := listquery.Number(token)
		require.NoError(t, err)
		if token == "" {
			before = 6
		}
		var rows []int64
		for row := before - 1; row > 0 && len(rows) < 3; row-- { // one more than the page
			rows = append(rows, row)
		}
		rows, token = listquery.NumberPage(rows, 2, func(row int64) int64 { return row })
		pages = append(pages, rows)
		if token == "" {
			break
		}
	}
	require.Equal(t, [][]int64{{5, 4}, {3, 2}, {1}}, pages)

	for _, token := range []string{"x", "0", "-1", "1.5", " 1", "+1", "4611686018427387904", "99999999999999999999"} {
		_, err := listquery.Number(token)
		require.Equal(t, rpc.KindInvalidArgument, rpc.KindOf(err), token)
		require.EqualError(t, err, "token: invalid page token")
	}
}
