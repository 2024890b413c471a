//go:build failpoints

package runs_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// ends is more than one batch.
const ends = 1500

// TestACrashWhileEndsAreCounted: a process is killed with a batch of ends that is counted and not committed, or right after its commit.
// The next one counts each end exactly once.
func TestACrashWhileEndsAreCounted(t *testing.T) {
	for _, point := range []string{"rollups.before-commit 1", "rollups.before-commit 2", "rollups.after-commit 1", "rollups.after-commit 2"} {
		t.Run(point, func(t *testing.T) {
			db := pgtest.New(t, store.Migrations())
			now := time.Now().UTC().Truncate(time.Microsecond)
			rows := make([]schema.Root, ends)
			for i := range rows {
				rows[i] = schema.Root{Action: schema.Action{
					ID: int64(i + 1), RunID: int64(i + 1), Project: "flytesnacks", Domain: "development", RunName: fmt.Sprint("run", i), Name: "a0", ActionType: 1, Phase: 5,
					TaskProject: "flytesnacks", TaskDomain: "development", TaskName: "env.t", CreatedAt: now, StartedAt: &now, EndedAt: &now, UpdatedAt: now,
				}}
			}
			require.NoError(t, storetest.Insert(t.Context(), db, rows...))
			require.NoError(t, storetest.Exec(t.Context(), db, `INSERT INTO uncounted_ends SELECT id FROM actions ON CONFLICT DO NOTHING`))
			dies(t, db, "TestTheProcessThatDiesWhileItCounts", point, func() {
				counted := countOf(t, db, `SELECT coalesce(sum(succeeded), 0) FROM task_days`)
				require.Equal(t, ends-counted, countOf(t, db, `SELECT count(*) FROM uncounted_ends`), "what is counted is no longer listed")
			})
			require.Zero(t, countOf(t, db, `SELECT count(*) FROM uncounted_ends`))
			require.Equal(t, ends, countOf(t, db, `SELECT sum(succeeded) FROM task_days`))
			require.Equal(t, ends, countOf(t, db, `SELECT sum(succeeded) FROM run_tasks`))
			require.Equal(t, ends, countOf(t, db, `SELECT sum(succeeded) FROM task_health`))
		})
	}
}

// TestTheProcessThatDiesWhileItCounts counts what is listed, in a process of its own.
func TestTheProcessThatDiesWhileItCounts(t *testing.T) {
	rollupsFixtureOn(t, dying(t)).counted()
}
