package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// TestListsOfAYoungRunReadAPage pages through a wide run that the statistics do not cover yet. A planner that takes
// the run for small would read and sort all of it for each page.
//
// Story R13: lists took minutes once there were 50,000 runs, for lack of an index in the requested order.
func TestListsOfAYoungRunReadAPage(t *testing.T) {
	for _, analyzed := range []string{"nothing", "another run"} {
		t.Run(analyzed, func(t *testing.T) {
			w := newWriting(t)
			if analyzed != "nothing" {
				w.create("before", "c1", "c2", "c3")
				_, err := w.pool.Exec(t.Context(), `ANALYZE actions`)
				require.NoError(t, err)
			}
			w.create("wide")
			const children, page = 3000, 100
			forEach(50, children, func(i int) { w.child("wide", "a0", fmt.Sprint("c", i)) })
			require.NoError(t, w.Stop(context.WithoutCancel(t.Context())))
			for _, direction := range []common.Sort_Direction{common.Sort_ASCENDING, common.Sort_DESCENDING} {
				readers := storetest.Counted(t, w.pool)
				before := storetest.TuplesRead(t, w.pool)
				reader := lists.NewReader(readers)
				listed, token := 0, ""
				for {
					request := &common.ListRequest{Limit: page, Token: token, SortByFields: []*common.Sort{{Key: "created_at", Direction: direction}}}
					items, next, err := reader.ListActions(t.Context(), runID("wide"), request)
					require.NoError(t, err)
					if listed += len(items); next == "" {
						break
					}
					token = next
				}
				require.Equal(t, children+1, listed)
				storetest.CloseAndCount(t, readers, w.pool)
				require.LessOrEqual(t, storetest.TuplesRead(t, w.pool)-before, int64(children+children/2), "about each row once")
			}
		})
	}
}
