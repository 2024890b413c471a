package lists_test

import (
	"encoding/base64"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// TestPagesNeitherSkipNorRepeat pages through runs while they change phase between the pages, in orders that do not
// depend on the phase. Many rows share their sort value, so that only the tie-break keeps them apart.
//
// Story R29: a filter with one value failed in SQL, and pages skipped rows.
func TestPagesNeitherSkipNorRepeat(t *testing.T) {
	pool := pgtest.New(t, store.Migrations())
	const count = 60
	random := rand.New(rand.NewPCG(1, 2))
	insertRoots(t, pool, count, func(n int, r *schema.Root) {
		r.CreatedAt = listStart.Add(time.Duration(n/7) * time.Microsecond) // seven at a time
		r.Phase, r.EndedAt = 1, nil
		r.TaskName = []string{"b", "a", ""}[n%3]
		if n%2 == 0 {
			r.EndedAt = &r.CreatedAt
		}
	})
	reader := lists.NewReader(pool)
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
			var order []lists.Listed
			request := &common.ListRequest{Limit: 7, SortByFields: sort}
			for {
				rows, token, err := reader.ListRuns(t.Context(), lists.RunScope{Project: "p", Domain: "d"}, request)
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
	insertRoots(t, pool, 20, func(int, *schema.Root) {})
	reader := lists.NewReader(pool)
	request := &common.ListRequest{
		Limit: 3, SortBy: &common.Sort{Key: "created_at", Direction: common.Sort_ASCENDING},
		Filters: []*common.Filter{
			filter(common.Filter_GREATER_THAN_OR_EQUAL, "updated_at", listStart.Add(5*time.Minute).Format(time.RFC3339)),
			filter(common.Filter_LESS_THAN, "updated_at", listStart.Add(15*time.Minute).Format(time.RFC3339)),
			filter(common.Filter_EQUAL, "task_name", "env.main"),
		},
	}
	var all []lists.Listed
	for {
		rows, token, err := reader.ListRuns(t.Context(), lists.RunScope{Project: "p", Domain: "d"}, request)
		require.NoError(t, err)
		all = append(all, rows...)
		if token == "" {
			break
		}
		request.Token = token
	}
	require.Equal(t, "05 06 07 08 09 10 11 12 13 14", runNames(all))
}

// TestTamperedTokens changes tokens at random. Each is either refused as an invalid argument or returns some page;
// the database never gets a value that it cannot read.
func TestTamperedTokens(t *testing.T) {
	pool := pgtest.New(t, store.Migrations())
	insertRoots(t, pool, 4, func(int, *schema.Root) {})
	reader := lists.NewReader(pool)
	random := rand.New(rand.NewPCG(3, 4))
	for _, key := range []string{"created_at", "ended_at", "task_name", "parent_name", "phase", "duration_ms", "id"} {
		request := &common.ListRequest{Limit: 1, SortByFields: []*common.Sort{{Key: key}}}
		_, token, err := reader.ListRuns(t.Context(), lists.RunScope{}, request)
		require.NoError(t, err)
		raw, err := base64.RawURLEncoding.DecodeString(token)
		require.NoError(t, err)
		for range 100 {
			changed := slices.Clone(raw)
			for range 1 + random.IntN(3) {
				place := 9 + random.IntN(len(raw)-9) // behind the fingerprint
				changed[place] = byte(random.IntN(256))
			}
			request.Token = base64.RawURLEncoding.EncodeToString(changed)
			if _, _, err := reader.ListRuns(t.Context(), lists.RunScope{}, request); err != nil {
				require.Equal(t, rpc.KindInvalidArgument, rpc.KindOf(err), "%s: %v", key, err)
			}
		}
	}
}

// TestPagesOfLabels pages by common and rare labels over more runs than the ordered walk covers.
func TestPagesOfLabels(t *testing.T) {
	pool := pgtest.New(t, store.Migrations())
	config := storetest.DefaultConfig()
	config.Runs, config.Children, config.Wide = 5000, 0, 0
	require.NoError(t, storetest.Fill(t.Context(), pool, config))
	reader := lists.NewReader(pool)
	for name, test := range map[string]struct {
		filter *common.Filter
		want   int
	}{
		"common": {filter(common.Filter_EQUAL, "labels.team", "t3"), 5000 / storetest.Teams},
		"rare":   {filter(common.Filter_EXISTS, "labels.rare"), 5000/storetest.Rare + 1},
		"none":   {filter(common.Filter_EQUAL, "labels.team", "nobody"), 0},
	} {
		for _, direction := range []common.Sort_Direction{common.Sort_ASCENDING, common.Sort_DESCENDING} {
			t.Run(name+" "+direction.String(), func(t *testing.T) {
				request := &common.ListRequest{
					Limit: 4, Filters: []*common.Filter{test.filter}, SortBy: &common.Sort{Key: "created_at", Direction: direction},
				}
				var ids []int64
				for {
					rows, token, err := reader.ListRuns(t.Context(), lists.RunScope{Project: config.Project, Domain: config.Domain}, request)
					require.NoError(t, err)
					for _, row := range rows {
						ids = append(ids, row.ID)
					}
					if request.Token = token; token == "" {
						break
					}
				}
				require.Len(t, ids, test.want)
				if direction == common.Sort_DESCENDING {
					slices.Reverse(ids)
				}
				require.True(t, slices.IsSorted(ids))
				require.Len(t, slices.Compact(ids), test.want)
			})
		}
	}
}
