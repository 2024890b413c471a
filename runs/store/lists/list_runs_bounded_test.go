package lists_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// TestBoundedListsFindTheSame compares lists whose pages look at a few runs with lists whose pages look at all: together, their pages have the
// same runs in the same order.
func TestBoundedListsFindTheSame(t *testing.T) {
	pool := pgtest.New(t, store.Migrations())
	r := rand.New(rand.NewPCG(3, 8))
	insertRoots(t, pool, 300, func(_ int, row *schema.Root) {
		row.CreatedAt = listStart.Add(time.Duration(r.IntN(200)) * time.Minute) // some at the same time
		ended := row.CreatedAt.Add(time.Duration(r.IntN(100)) * time.Minute)
		row.StartedAt, row.EndedAt, row.UpdatedAt = &row.CreatedAt, &ended, ended.Add(time.Minute)
		row.FunctionName = []string{"train", "load", "rare"}[min(r.IntN(20)/9, 2)]
		row.TaskName = []string{"a", "b", "c"}[r.IntN(3)]
		row.CreatedBySubject = []string{"ann", "bob"}[r.IntN(2)]
	})
	moment := func() string { return listStart.Add(time.Duration(r.IntN(300)) * time.Minute).Format(time.RFC3339) }
	few, all := lists.NewReaderOf(pool, 17), lists.NewReaderOf(pool, 1000)
	short := 0
	for range 300 {
		choices := []*common.Filter{
			filter(common.Filter_EQUAL, "function_name", []string{"train", "rare", "none"}[r.IntN(3)]),
			filter(common.Filter_CONTAINS_CASE_INSENSITIVE, "name", "1"),
			filter(common.Filter_NOT_EQUAL, "phase", "5"),
			filter(common.Filter_GREATER_THAN, "duration_ms", "3000000"),
			filter(common.Filter_LESS_THAN, "created_at", moment()),
			filter(common.Filter_GREATER_THAN_OR_EQUAL, "updated_at", moment()),
			filter(common.Filter_LESS_THAN, "ended_at", moment()),
			filter(common.Filter_GREATER_THAN, "started_at", moment()),
			filter(common.Filter_EQUAL, "task_name", "b"),
		}
		r.Shuffle(len(choices), func(i, j int) { choices[i], choices[j] = choices[j], choices[i] })
		key := []string{"created_at", "updated_at", "phase", "task_name", "created_by", "name", "duration_ms"}[r.IntN(7)]
		request := &common.ListRequest{
			Limit: 10, Filters: choices[:1+r.IntN(3)], SortByFields: []*common.Sort{{Key: key, Direction: common.Sort_Direction(r.IntN(2))}},
		}
		scope := []lists.RunScope{{}, {Project: "p", Domain: "d"}, {Project: "p", Domain: "d", TaskName: "a"}}[r.IntN(3)]
		read := func(reader *lists.Reader) (names []string) {
			request.Token = ""
			for {
				rows, token, err := reader.ListRuns(t.Context(), scope, request)
				require.NoError(t, err)
				for _, row := range rows {
					names = append(names, row.RunName)
				}
				if token == "" {
					return names
				}
				if len(rows) < int(request.GetLimit()) {
					short++
				}
				request.Token = token
			}
		}
		want := read(all)
		require.Equal(t, want, read(few), "%v in %v", request, scope)
	}
	require.Greater(t, short, 300, "pages that were short")
}

// TestListsWithoutAnIndexReadLittle: a page of a list that no index narrows goes through a limited number of rows, also where nothing matches.
func TestListsWithoutAnIndexReadLittle(t *testing.T) {
	pool, config := storetest.Seeded(t, 20)
	traced, recorded := recordedPool(t, pool)
	reader := lists.NewReaderOf(traced, 500)
	for _, field := range []string{"created_at", "updated_at", "phase", "task_name", "created_by", "name"} {
		for _, direction := range []common.Sort_Direction{common.Sort_ASCENDING, common.Sort_DESCENDING} {
			request := &common.ListRequest{
				Limit: 100, Filters: []*common.Filter{filter(common.Filter_EQUAL, "function_name", "none")},
				SortByFields: []*common.Sort{{Key: field, Direction: direction}},
			}
			for range 3 {
				recorded.last = nil
				rows, token, err := reader.ListRuns(t.Context(), lists.RunScope{Project: config.Project, Domain: config.Domain}, request)
				require.NoError(t, err)
				require.Empty(t, rows)
				require.NotEmpty(t, token)
				require.LessOrEqual(t, recorded.through(t, pool), 2100.0, "by %s %s", field, direction) // of 4,501 runs; two statements, each row in two nodes
				request.Token = token
			}
		}
	}
}
