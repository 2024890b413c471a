package store_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pgtest"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// TestPagesNeitherSkipNorRepeat pages through runs while they change phase between the pages, in orders that do not
// depend on the phase. Many rows share their sort value, so that only the tie-break keeps them apart.
func TestPagesNeitherSkipNorRepeat(t *testing.T) {
	pool := pgtest.New(t, store.Migrations())
	const count = 60
	random := rand.New(rand.NewPCG(1, 2))
	insertRoots(t, pool, count, func(n int, r *store.Root) {
		r.CreatedAt = listStart.Add(time.Duration(n/7) * time.Microsecond) // seven at a time
		r.Phase, r.EndedAt = 1, nil
		r.TaskName = []string{"b", "a", ""}[n%3]
		if n%2 == 0 {
			r.EndedAt = &r.CreatedAt
		}
	})
	reader := store.NewReader(pool)
	asc, desc := common.Sort_ASCENDING, common.Sort_DESCENDING
	for name, sort := range map[string][]*common.Sort{
		"default":          nil,
		"oldest":           {{Key: "created_at", Direction: asc}},
		"task, newest":     {{Key: "task_name", Direction: asc}, {Key: "created_at", Direction: desc}},
		"task, oldest":     {{Key: "task_name", Direction: desc}, {Key: "created_at", Direction: asc}},
		"name":             {{Key: "name", Direction: desc}},
		"end, unfinished":  {{Key: "ended_at", Direction: desc}},
		"duration, parent": {{Key: "duration_ms", Direction: asc}, {Key: "parent_name", Direction: desc}},
	} {
		t.Run(name, func(t *testing.T) {
			seen := map[string]int{}
			var order []store.Listed
			request := &common.ListRequest{Limit: 7, SortByFields: sort}
			for {
				rows, token, err := reader.ListRuns(t.Context(), store.RunScope{Project: "p", Domain: "d"}, request)
				require.NoError(t, err)
				for _, row := range rows {
					seen[row.RunName]++
				}
				order = append(order, rows...)
				if token == "" {
					break
				}
				request.Token = token
				_, err = pool.Exec(t.Context(), `UPDATE actions SET phase = $1, updated_at = now() WHERE id % 3 = $2`, random.IntN(9)+1, random.IntN(3))
				require.NoError(t, err)
			}
			require.Len(t, seen, count)
			require.Len(t, order, count, "no run twice")
		})
	}
}

// TestUpdatedFilterKeepsPaging covers the other plan for filters on the last update.
func TestUpdatedFilterKeepsPaging(t *testing.T) {
	pool := pgtest.New(t, store.Migrations())
	insertRoots(t, pool, 20, func(int, *store.Root) {})
	reader := store.NewReader(pool)
	request := &common.ListRequest{
		Limit: 3, SortBy: &common.Sort{Key: "created_at", Direction: common.Sort_ASCENDING},
		Filters: []*common.Filter{
			filter(common.Filter_GREATER_THAN_OR_EQUAL, "updated_at", listStart.Add(5*time.Minute).Format(time.RFC3339)),
			filter(common.Filter_LESS_THAN, "updated_at", listStart.Add(15*time.Minute).Format(time.RFC3339)),
			filter(common.Filter_EQUAL, "task_name", "env.main"),
		},
	}
	var all []store.Listed
	for {
		rows, token, err := reader.ListRuns(t.Context(), store.RunScope{Project: "p", Domain: "d"}, request)
		require.NoError(t, err)
		all = append(all, rows...)
		if token == "" {
			break
		}
		request.Token = token
	}
	require.Equal(t, "05 06 07 08 09 10 11 12 13 14", runNames(all))
}
