package lists_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// TestOverviewsUseIndexes checks the plans of the console's requests: none may scan the whole table, and counts must
// be index-only. For the history of a task that has a third of the rows, a scan costs about as much as the index and the
// planner chooses by its sample: there the test checks that the index serves the statement.
func TestOverviewsUseIndexes(t *testing.T) {
	pool, config := overviewSeeded(t, 20)
	reader, recorded := recordedReader(t, pool)
	index := map[string]string{
		"paused/everywhere": "actions_paused", "paused/project": "actions_scope_paused",
		"history/week": "actions_task_ended", "history/all": "actions_task_ended", "history/task of half of all": "actions_task_ended",
		"activity/day": "actions_root_created", "activity/all": "actions_root_created",
	}
	for _, c := range overviewCases(config) {
		t.Run(c.name, func(t *testing.T) {
			recorded.last = nil
			require.NoError(t, c.run(t.Context(), reader))
			asked := slices.Clone(recorded.last)
			planner, err := pool.Begin(t.Context()) // with the settings that the statements run under
			require.NoError(t, err)
			defer planner.Rollback(t.Context()) //nolint:errcheck // nothing was written
			if c.name == "history/task of half of all" {
				_, err := planner.Exec(t.Context(), `SET LOCAL enable_seqscan = off`)
				require.NoError(t, err)
			}
			used := ""
			for _, statement := range asked {
				if strings.Contains(statement.SQL, "enable_seqscan") {
					_, err := planner.Exec(t.Context(), statement.SQL)
					require.NoError(t, err)
				}
				if !strings.Contains(statement.SQL, "FROM actions") {
					continue // begins and ends of transactions
				}
				used += planOf(t, planner, statement)
			}
			if wanted := index[c.name]; wanted != "" {
				require.Contains(t, used, "using "+wanted)
			}
		})
	}
}

// TestSearchReadsLittle searches for a prefix of nearly all run names, with and without statistics. The amount read
// must not grow with the table.
func TestSearchReadsLittle(t *testing.T) {
	pool, _ := overviewSeeded(t, 5)
	for _, analyzed := range []bool{true, false} {
		if !analyzed {
			_, err := pool.Exec(t.Context(), `DELETE FROM pg_statistic`)
			require.NoError(t, err)
		}
		for _, text := range []string{"r", "r1", "nothing", "nightly", "env.task-1"} {
			readers := storetest.Counted(t, pool)
			before := storetest.TuplesRead(t, pool)
			_, err := lists.NewReader(readers).Search(t.Context(), text, 8)
			require.NoError(t, err)
			storetest.CloseAndCount(t, readers, pool)
			require.LessOrEqual(t, storetest.TuplesRead(t, pool)-before, int64(16_000), "%s, analyzed %t", text, analyzed)
		}
	}
}
