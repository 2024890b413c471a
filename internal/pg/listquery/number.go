package listquery

import (
	"strconv"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Number reads the page token of a list whose tokens are positive numbers: the number of the last row of the page before, or
// how many rows the pages before had. It is 0 for the first page.
func Number(token string) (int64, error) {
	if token == "" {
		return 0, nil
	}
	number, err := strconv.ParseUint(token, 10, 62) // adding the length of a page does not overflow
	if err != nil || number == 0 {
		return 0, rpc.InvalidArgument("token", "%s", errToken.Error())
	}
	return int64(number), nil
}

// NumberToken is the page token that Number reads.
func NumberToken(number int64) string { return strconv.FormatInt(number, 10) }

// NumberPage trims rows, of which one more than the page was read, to the page. It returns the token of the next page, which is
// the number of the last row and empty on the last page.
func NumberPage[T any](rows []T, limit int, number func(T) int64) ([]T, string) {
	if len(rows) <= limit {
		return rows, ""
	}
	return rows[:limit], NumberToken(number(rows[limit-1]))
}
