package ledger_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/tests/faults/ledger"
)

func whats(t *testing.T, dir string) []string {
	t.Helper()
	lines, err := ledger.Read(dir, "r")
	require.NoError(t, err)
	var found []string
	for _, line := range lines {
		found = append(found, line.What)
	}
	return found
}

func TestTwoProcessesOfAnAttemptAreFound(t *testing.T) {
	dir := t.TempDir()
	_, err := ledger.Open(dir, "r", "a0", 1)
	require.NoError(t, err)
	_, err = ledger.Open(dir, "r", "a0", 2)
	require.NoError(t, err)
	require.NotContains(t, whats(t, dir), ledger.Overlap, "another attempt may begin")
	_, err = ledger.Open(dir, "r", "a0", 1)
	require.NoError(t, err)
	require.Contains(t, whats(t, dir), ledger.Overlap)
}

func TestFailuresOfAllAttemptsCount(t *testing.T) {
	dir := t.TempDir()
	for attempt := range 3 {
		w, err := ledger.Open(dir, "r", "n1", attempt+1)
		require.NoError(t, err)
		failures, err := w.Failures()
		require.NoError(t, err)
		require.Equal(t, attempt, failures)
		require.NoError(t, w.Note(ledger.Line{What: ledger.Failing}))
	}
	other, err := ledger.Open(dir, "r", "n10", 1)
	require.NoError(t, err)
	failures, err := other.Failures()
	require.NoError(t, err)
	require.Zero(t, failures, "of another action")
}

func TestALineThatWasCutOffIsLeftOut(t *testing.T) {
	dir := t.TempDir()
	w, err := ledger.Open(dir, "r", "a0", 1)
	require.NoError(t, err)
	require.NoError(t, w.Note(ledger.Line{What: ledger.Seen, Child: "n1", Phase: 5}))
	paths, err := filepath.Glob(filepath.Join(dir, "r", "*.jsonl"))
	require.NoError(t, err)
	file, err := os.OpenFile(paths[0], os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	defer file.Close()
	_, err = file.WriteString(`{"what":"do`)
	require.NoError(t, err)
	require.Equal(t, []string{ledger.Start, ledger.Seen}, whats(t, dir))
}
