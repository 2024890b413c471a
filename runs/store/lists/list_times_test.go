package lists_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// TestListsByTimesFindAll compares lists with filters on times, which use what one time implies for another, with the filters
// alone. Clocks differ by some minutes, so that runs seem to end after their last update or before their creation.
func TestListsByTimesFindAll(t *testing.T) {
	pool := pgtest.New(t, store.Migrations())
	r := rand.New(rand.NewPCG(5, 9))
	within := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))).Truncate(time.Second) }
	insertRoots(t, pool, 300, func(_ int, row *schema.Root) {
		row.CreatedAt = listStart.Add(within(48 * time.Hour))
		started := row.CreatedAt.Add(within(time.Hour) - 9*time.Minute)
		ended := started.Add(within(2 * time.Hour))
		row.StartedAt, row.EndedAt, row.UpdatedAt = &started, &ended, ended.Add(within(time.Hour)-9*time.Minute)
		if r.IntN(5) == 0 {
			row.EndedAt, row.UpdatedAt = nil, started
		}
		if r.IntN(5) == 0 {
			row.StartedAt = nil
		}
	})
	operators := map[common.Filter_Function]string{
		common.Filter_GREATER_THAN: ">", common.Filter_GREATER_THAN_OR_EQUAL: ">=", common.Filter_LESS_THAN: "<", common.Filter_LESS_THAN_OR_EQUAL: "<=",
	}
	functions := []common.Filter_Function{common.Filter_GREATER_THAN, common.Filter_GREATER_THAN_OR_EQUAL, common.Filter_LESS_THAN, common.Filter_LESS_THAN_OR_EQUAL}
	found := 0
	for range 200 {
		where, filters := "", []*common.Filter(nil)
		for range 1 + r.IntN(2) {
			field := []string{"started_at", "ended_at", "updated_at"}[r.IntN(3)]
			function := functions[r.IntN(len(functions))]
			moment := listStart.Add(within(50 * time.Hour)).Format(time.RFC3339)
			where += fmt.Sprintf(" AND %s %s '%s'", field, operators[function], moment)
			filters = append(filters, filter(function, field, moment))
		}
		key, direction, sort := []string{"created_at", "updated_at"}[r.IntN(2)], common.Sort_DESCENDING, "DESC"
		if r.IntN(2) == 0 {
			direction, sort = common.Sort_ASCENDING, "ASC"
		}
		rows, err := pool.Query(t.Context(), fmt.Sprintf(`SELECT run_name FROM actions WHERE parent_name IS NULL%s ORDER BY %s %s, id %s`, where, key, sort, sort))
		require.NoError(t, err)
		want, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		found += len(want)
		for _, scope := range []lists.RunScope{{}, {Project: "p", Domain: "d"}} {
			got := []string{}
			for token := ""; ; {
				page, next, err := lists.NewReader(pool).ListRuns(t.Context(), scope, &common.ListRequest{
					Limit: 50, Filters: filters, Token: token, SortBy: &common.Sort{Key: key, Direction: direction},
				})
				require.NoError(t, err)
				for _, run := range page {
					got = append(got, run.RunName)
				}
				if token = next; token == "" {
					break
				}
			}
			require.Equal(t, want, got, "%s by %s %s", where, key, sort)
		}
	}
	require.Greater(t, found, 2000)
}

// TestListsByEndReadLittle: what ended lately is found by its last update, in whatever order, and also where nothing matches.
func TestListsByEndReadLittle(t *testing.T) {
	pool, config := storetest.Seeded(t, 20)
	reader, recorded := recordedReader(t, pool)
	end := config.Start.Add(config.Span)
	lately := func(field string) *common.Filter {
		return filter(common.Filter_GREATER_THAN_OR_EQUAL, field, end.Add(-10*time.Minute).Format(time.RFC3339))
	}
	for _, filters := range [][]*common.Filter{
		{lately("ended_at"), filter(common.Filter_EQUAL, "created_by", "nobody"), filter(common.Filter_VALUE_IN, "phase", "6", "8")}, // the alerts of the console
		{lately("ended_at"), filter(common.Filter_EQUAL, "function_name", "none")},
		{lately("started_at"), filter(common.Filter_EQUAL, "function_name", "none")},
		{filter(common.Filter_LESS_THAN, "ended_at", config.Start.Add(10*time.Minute).Format(time.RFC3339)), filter(common.Filter_EQUAL, "function_name", "none")},
	} {
		for _, scope := range []lists.RunScope{{}, {Project: config.Project, Domain: config.Domain}} {
			for _, sort := range []*common.Sort{{Key: "created_at"}, {Key: "created_at", Direction: common.Sort_ASCENDING}, {Key: "updated_at"}} {
				if scope.Project == "" && sort.GetDirection() == common.Sort_ASCENDING {
					continue // no client asks for it
				}
				recorded.last = nil
				rows, _, err := reader.ListRuns(t.Context(), scope, &common.ListRequest{Limit: 100, Filters: filters, SortBy: sort})
				require.NoError(t, err)
				require.Empty(t, rows)
				read := recorded.statements()
				statement := read[len(read)-1] // others look at a limited number of runs first
				explained, err := pool.Query(t.Context(), "EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF) "+statement.SQL, statement.Args...)
				require.NoError(t, err)
				plan, err := pgx.CollectRows(explained, pgx.RowTo[string])
				require.NoError(t, err)
				require.Less(t, storetest.GoneThrough(plan), 1000.0, "%v by %v in %v: %s", filters, sort, scope, plan) // of 4,501 runs
			}
		}
	}
}
