package runs

import (
	"context"

	"github.com/flyte-binary/flyte-binary/runs/asks"
	"github.com/flyte-binary/flyte-binary/runs/placement"
)

// farFrom says why the parent of an action cannot read outputs from the cache: its cluster does not reach their store. Roots have no
// parent; the API reads their outputs.
func farFrom(book *placement.Book, actions asks.Actions) func(ctx context.Context, actionID int64, uri string) (string, error) {
	if !book.Policy().Divided() {
		return nil
	}
	return func(ctx context.Context, actionID int64, uri string) (string, error) {
		if len(book.Policy().StoresOf([]string{uri})) == 0 {
			return "", nil
		}
		rows, err := actions.Placeable(ctx, []int64{actionID})
		if err != nil || len(rows) == 0 || rows[0].Parent == "" {
			return "", err //nolint:wrapcheck // it says what it could not read
		}
		if far := book.Far(rows[0].Parent, uri); far != "" {
			return "the cached outputs are in " + far + ", which cluster " + rows[0].Parent + " of the parent cannot reach", nil
		}
		return "", nil
	}
}
