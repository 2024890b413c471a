package storetest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

func TestMain(m *testing.M) { pgtest.VerifyMain(m) }

func TestShow(t *testing.T) {
	pool := pgtest.New(t, store.Migrations())
	c := storetest.DefaultShown()
	c.Actions, c.Now = 3000, time.Now()
	require.NoError(t, storetest.Show(t.Context(), pool, c))
	done := c
	done.Name, done.Unfinished = "done", 0
	require.NoError(t, storetest.Show(t.Context(), pool, done))
	require.Error(t, storetest.Show(t.Context(), pool, c), "there is a run of that name")

	one := func(query string) (n int) {
		t.Helper()
		require.NoError(t, pool.QueryRow(t.Context(), query).Scan(&n), query)
		return n
	}
	require.Equal(t, 6000, one(`SELECT count(*) FROM actions`))
	require.Equal(t, 10, one(`SELECT count(DISTINCT phase) FROM actions WHERE run_name = 'big' AND parent_name IS NOT NULL`)+
		one(`SELECT count(*) FROM (SELECT 1 WHERE NOT EXISTS (SELECT FROM actions WHERE run_name = 'big' AND phase = 9)) AS no_condition_waits`))
	require.Greater(t, one(`SELECT count(*) FROM actions WHERE phase = 6`), 100)
	require.Greater(t, one(`SELECT max(attempt) FROM actions`), 2)
	for rule, broken := range map[string]string{
		"all but the root have a parent that was recorded before": `SELECT count(*) FROM actions a LEFT JOIN actions p ON p.run_id = a.run_id AND p.name = a.parent_name
			WHERE a.id <> a.run_id AND (p.id IS NULL OR p.id >= a.id OR p.created_at > a.created_at)`,
		"no terminal action has a live child": `SELECT count(*) FROM actions a JOIN actions p ON p.run_id = a.run_id AND p.name = a.parent_name
			WHERE a.ended_at IS NULL AND p.ended_at IS NOT NULL`,
		"the last event has the phase": `SELECT count(*) FROM actions a LEFT JOIN action_events e ON e.run_id = a.run_id AND e.seq = a.last_seq
			WHERE a.id <> a.run_id AND (e.action_id IS DISTINCT FROM a.id OR e.phase IS DISTINCT FROM a.phase)`,
		"the root has the last place of the log": `SELECT count(*) FROM actions a WHERE parent_name IS NULL
			AND last_seq <> (SELECT max(seq) FROM action_events WHERE run_id = a.id)`,
		"times are in order":     `SELECT count(*) FROM actions WHERE started_at < created_at OR ended_at < started_at OR updated_at < created_at`,
		"ends have a time":       `SELECT count(*) FROM actions WHERE (ended_at IS NULL) <> (phase IN (1, 2, 3, 4, 9))`,
		"the loops have no work": `SELECT count(*) FROM actions WHERE ended_at IS NULL AND (admitted_at IS NOT NULL OR phase = 1 AND action_type = 1 AND hold = 0)`,
		"a run that has ended":   `SELECT count(*) FROM actions WHERE run_name = 'done' AND ended_at IS NULL`,
	} {
		require.Zero(t, one(broken), rule)
	}
	c.Actions = 0
	require.ErrorContains(t, storetest.Show(t.Context(), pool, c), "actions")
}
