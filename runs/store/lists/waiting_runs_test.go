package lists_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// TestWaitingRunsAreNarrowed: who waits, and who has the places, are only those that the caller may see.
func TestWaitingRunsAreNarrowed(t *testing.T) {
	pool := pgtest.New(t, store.Migrations())
	insertRoots(t, pool, 6, func(n int, r *schema.Root) {
		seq := int64(1)
		r.Phase, r.EndedAt, r.LastSeq, r.CountedSeq, r.PhaseCounts = 1, nil, 1, &seq, []int32{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}
		switch n {
		case 1:
			r.Domain = "other"
		case 2, 3:
			r.Project = "q"
		case 4: // nothing of it waits
			r.Phase, r.PhaseCounts = 4, []int32{0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0}
		case 5: // it has ended, and its counts are not known
			r.Phase, r.EndedAt, r.CountedSeq, r.PhaseCounts = 5, &r.CreatedAt, nil, nil
		}
	})
	reader := lists.NewReader(pool)
	ids := []int64{1000, 1001, 1002, 1003, 1004, 1005}
	for name, want := range map[string]string{
		"nothing": "", "one domain": "run00", "a project": "run00 run01", "two projects": "run00 run01 run02 run03", "a domain of all": "run00 run02 run03",
	} {
		t.Run(name, func(t *testing.T) {
			ctx := authz.WithScope(t.Context(), scopeOf(scopes[name]))
			page, token, err := reader.WaitingRoots(ctx, schema.Scope{}, 0, "")
			require.NoError(t, err)
			require.Empty(t, token)
			found := ""
			for i, run := range page {
				if i > 0 {
					found += " "
				}
				found += run.Run.Name
			}
			require.Equal(t, want, found)
			names, err := reader.NamedRuns(ctx, ids)
			require.NoError(t, err)
			for _, run := range page {
				require.Contains(t, names, run.ID)
			}
			if name == "nothing" {
				require.Empty(t, names)
			}
		})
	}
}

// TestWhatRunsWaitForReadsLittle has runs of thousands of waiting actions.
func TestWhatRunsWaitForReadsLittle(t *testing.T) {
	pool := pgtest.New(t, store.Migrations())
	require.NoError(t, storetest.Exec(t.Context(), pool,
		`INSERT INTO actions (id, run_id, project, domain, run_name, name, action_type, phase, admitted_at, created_at, updated_at, paused_count)
			SELECT id, id, 'p', 'd', 'wide' || id, 'a0', 1, 4, '2026-03-01', '2026-03-01', '2026-03-01', 1 FROM generate_series(1, 10) id`,
		`INSERT INTO actions (id, run_id, project, domain, run_name, name, parent_name, action_type, phase, created_at, updated_at)
			SELECT 1000 + run * 10000 + n, run, 'p', 'd', 'wide' || run, 'c' || n, 'a0', CASE WHEN n = 77 THEN 3 ELSE 1 END, CASE WHEN n = 77 THEN 9 ELSE 1 END,
				'2026-03-01'::timestamptz + n * interval '1 second', '2026-03-01' FROM generate_series(1, 10) run, generate_series(1, 3000) n`,
		`VACUUM ANALYZE actions`))
	ids := make([]int64, 10)
	for i := range ids {
		ids[i] = int64(i + 1)
	}
	for _, analyzed := range []bool{true, false} {
		if !analyzed {
			require.NoError(t, storetest.Exec(t.Context(), pool, `DELETE FROM pg_statistic`))
		}
		readers := storetest.Counted(t, pool)
		before := storetest.TuplesRead(t, pool)
		runs, err := lists.NewReader(readers).RunStandings(t.Context(), ids)
		require.NoError(t, err)
		storetest.CloseAndCount(t, readers, pool)
		require.LessOrEqual(t, storetest.TuplesRead(t, pool)-before, int64(10*250), "analyzed %t", analyzed)
		for _, id := range ids {
			require.Len(t, runs[id].Waiting, 2, fmt.Sprint("run ", id))
			require.Equal(t, "c77", runs[id].Waiting[0].Name)
			require.EqualValues(t, 9, runs[id].Waiting[0].Phase)
			require.EqualValues(t, 1, runs[id].Waiting[1].Phase)
			require.Equal(t, 1, runs[id].Parents)
		}
	}
}
