package lists_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

var foldPlace = schema.Scope{Project: "p", Domain: "d"}

// TestFoldsAreTheListsOfTheirTriggers compares folds with the lists of all runs, with filters: each run of a trigger is in its fold, each
// other one in the list of runs without a trigger.
func TestFoldsAreTheListsOfTheirTriggers(t *testing.T) {
	pool := pgtest.New(t, store.Migrations())
	insertRoots(t, pool, 60, func(n int, r *schema.Root) {
		switch n % 5 {
		case 1, 2:
			r.TriggerName, r.TriggerTaskName = "nightly", fmt.Sprint("env.task", n%5) // one name for two tasks
		case 3:
			r.TriggerName, r.TriggerTaskName, r.Phase = "hourly", "env.main", int16(5+n%2)
		case 4:
			r.Project, r.TriggerName, r.TriggerTaskName = "q", "elsewhere", "env.main"
		}
		r.Labels = map[string]string{"third": fmt.Sprint(n % 3)}
	})
	reader := lists.NewReader(pool)
	for name, filters := range map[string][]*common.Filter{
		"all":     nil,
		"a label": {filter(common.Filter_EQUAL, "labels.third", "1")},
		"a phase": {filter(common.Filter_VALUE_IN, "phase", "6")},
		"a time":  {filter(common.Filter_GREATER_THAN_OR_EQUAL, "created_at", listStart.Add(30*time.Minute).Format(time.RFC3339))},
		"a name":  {filter(common.Filter_CONTAINS, "name", "1")},
		"none":    {filter(common.Filter_EQUAL, "created_by", "nobody")},
	} {
		t.Run(name, func(t *testing.T) {
			folds, complete, err := reader.RunFolds(t.Context(), foldPlace, filters, nil)
			require.NoError(t, err)
			require.True(t, complete)
			list := func(more ...*common.Filter) []lists.Listed {
				rows, token, err := reader.ListRuns(t.Context(), lists.RunScope{Project: "p", Domain: "d"}, &common.ListRequest{Limit: 100, Filters: append(more, filters...)})
				require.NoError(t, err)
				require.Empty(t, token)
				return rows
			}
			found := len(list(filter(common.Filter_EQUAL, "trigger_name", ""), filter(common.Filter_EQUAL, "trigger_task_name", "")))
			var newest time.Time
			for i, fold := range folds {
				rows := list(filter(common.Filter_EQUAL, "trigger_name", fold.Latest.TriggerName), filter(common.Filter_EQUAL, "trigger_task_name", fold.Latest.TriggerTaskName))
				counts := make([]int32, schema.Phases)
				for _, row := range rows {
					counts[row.Phase]++
				}
				require.Equal(t, counts, fold.Counts)
				require.Equal(t, rows[0].RunName, fold.Latest.RunName)
				require.Equal(t, rows[0].Labels, fold.Latest.Labels)
				require.False(t, fold.Older)
				require.True(t, i == 0 || !fold.Latest.CreatedAt.After(newest), "not newest first")
				newest = fold.Latest.CreatedAt
				found += len(rows)
			}
			require.Len(t, list(), found)
		})
	}
	_, _, err := reader.RunFolds(t.Context(), foldPlace, []*common.Filter{filter(common.Filter_EQUAL, "nothing", "1")}, nil)
	require.ErrorContains(t, err, "nothing")
}

// TestFoldsAndSummariesReadLittle has triggers with many runs, and a run with many actions: neither may cost by their number.
func TestFoldsAndSummariesReadLittle(t *testing.T) {
	pool := pgtest.New(t, store.Migrations())
	require.NoError(t, storetest.Exec(t.Context(), pool,
		`INSERT INTO actions (id, run_id, project, domain, run_name, name, action_type, phase, task_name, trigger_name, trigger_task_name, created_at, started_at, ended_at, updated_at)
			SELECT id, id, 'p', 'd', 'run' || id, 'a0', 1, 5, 'env.main', 'every-' || id % 10, 'env.main', at, at, at + interval '1 minute', at
			FROM (SELECT id, '2026-01-01'::timestamptz + id * interval '1 minute' AS at FROM generate_series(1, 30000) id) made`,
		`INSERT INTO actions (id, run_id, project, domain, run_name, name, action_type, phase, task_name, created_at, updated_at, phase_counts, counted_seq)
			SELECT id, id, 'p', 'd', 'wide' || id, 'a0', 1, 4, 'env.main', '2026-03-01', '2026-03-01', '{0,0,0,0,1,500}', 0 FROM generate_series(100001, 100050) id`,
		`INSERT INTO actions (id, run_id, project, domain, run_name, name, parent_name, action_type, phase, created_at, updated_at, ended_at)
			SELECT 200000 + run * 1000 + n, 100000 + run, 'p', 'd', 'wide' || 100000 + run, 'c' || n, 'a0', 1, 5, '2026-03-01', '2026-03-01', '2026-03-01'
			FROM generate_series(1, 50) run, generate_series(1, 500) n`,
		`VACUUM ANALYZE actions`))
	names := make([]string, 50)
	for i := range names {
		names[i] = fmt.Sprint("wide", 100001+i)
	}
	for _, analyzed := range []bool{true, false} {
		if !analyzed {
			require.NoError(t, storetest.Exec(t.Context(), pool, `DELETE FROM pg_statistic`))
		}
		read := func(most int64, ask func(*lists.Reader)) {
			t.Helper()
			readers := storetest.Counted(t, pool)
			before := storetest.TuplesRead(t, pool)
			ask(lists.NewReader(readers))
			storetest.CloseAndCount(t, readers, pool)
			require.LessOrEqual(t, storetest.TuplesRead(t, pool)-before, most, "analyzed %t", analyzed)
		}
		read(1_100, func(r *lists.Reader) {
			folds, _, err := r.RunFolds(t.Context(), foldPlace, nil, nil)
			require.NoError(t, err)
			require.Len(t, folds, 10)
			for _, fold := range folds {
				require.True(t, fold.Older)
				require.EqualValues(t, 100, fold.Counts[5])
			}
		})
		read(400, func(r *lists.Reader) {
			runs, usual, err := r.RunSummaries(t.Context(), foldPlace, names)
			require.NoError(t, err)
			require.Len(t, runs, 50)
			require.EqualValues(t, 500, runs[7].Counts[5])
			require.Equal(t, lists.Usual{P50: time.Minute, P90: time.Minute, Runs: 50}, usual["env.main"])
		})
	}
}

// TestMoreTriggersThanAreFolded says so.
func TestMoreTriggersThanAreFolded(t *testing.T) {
	pool := pgtest.New(t, store.Migrations())
	insertTriggered(t, pool, 301)
	folds, complete, err := lists.NewReader(pool).RunFolds(t.Context(), foldPlace, nil, nil)
	require.NoError(t, err)
	require.Len(t, folds, 300)
	require.False(t, complete)
}

func insertTriggered(t *testing.T, pool *pgxpool.Pool, triggers int) {
	t.Helper()
	require.NoError(t, storetest.Exec(t.Context(), pool, fmt.Sprintf(
		`INSERT INTO actions (id, run_id, project, domain, run_name, name, action_type, phase, trigger_name, trigger_task_name, created_at, updated_at)
			SELECT id, id, 'p', 'd', 'run' || id, 'a0', 1, 4, 'every-' || id, 'env.main', now(), now() FROM generate_series(1, %d) id`, triggers)))
}
