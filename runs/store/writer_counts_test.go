package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/state"
)

// miscount leaves the counts of a run as a version does that writes an event and does not count.
func (w *writing) miscount(run string) {
	w.t.Helper()
	_, err := w.pool.Exec(w.t.Context(), `UPDATE actions SET phase_counts = array_fill(7, ARRAY[11]), counted_seq = last_seq - 1
		WHERE run_name = $1 AND parent_name IS NULL`, run)
	require.NoError(w.t, err)
}

// counts are those on the root, nil if they do not hold for the last event of the run.
func (w *writing) counts(run string) map[state.Phase]int32 {
	w.t.Helper()
	var counts []int32
	require.NoError(w.t, w.pool.QueryRow(w.t.Context(), `SELECT CASE WHEN counted_seq = last_seq THEN phase_counts END FROM actions
		WHERE run_name = $1 AND parent_name IS NULL`, run).Scan(&counts))
	if counts == nil {
		return nil
	}
	found := map[state.Phase]int32{}
	for phase, n := range counts {
		if n != 0 {
			found[state.Phase(phase)] = n
		}
	}
	return found
}

// TestCountsAreRepairedByTheNextWrite: what a version without counts wrote, and what is older than the counts, is counted once.
func TestCountsAreRepairedByTheNextWrite(t *testing.T) {
	w := newWriting(t)
	w.create("r", "c1", "c2", "c3")
	w.report(to("r", ident.RootAction, 1, state.Running), to("r", "c1", 1, state.Succeeded))
	require.Equal(t, map[state.Phase]int32{state.Queued: 2, state.Running: 1, state.Succeeded: 1}, w.counts("r"))

	w.miscount("r")
	require.Nil(t, w.counts("r"))
	w.report(to("r", "c2", 1, state.Running))
	require.Equal(t, map[state.Phase]int32{state.Queued: 1, state.Running: 2, state.Succeeded: 1}, w.counts("r"))

	_, err := w.pool.Exec(t.Context(), `UPDATE actions SET phase_counts = NULL, counted_seq = NULL`)
	require.NoError(t, err)
	w.report(to("r", "c2", 1, state.Failed))
	require.Equal(t, map[state.Phase]int32{state.Queued: 1, state.Running: 1, state.Succeeded: 1, state.Failed: 1}, w.counts("r"))
	require.Zero(t, w.number(`SELECT count(*) FROM actions WHERE parent_name IS NOT NULL AND phase_counts IS NOT NULL`))
}
