package command_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
)

func TestRetentionCommand(t *testing.T) {
	base := []string{"--set", "database.url=" + pgtest.URL(pgtest.Empty(t)), "--set", "storage.url=" + t.TempDir()}
	_, err := run(t, append([]string{"migrate", "up"}, base...)...)
	require.NoError(t, err)
	_, err = run(t, append([]string{"retention", "--now"}, base...)...)
	require.ErrorContains(t, err, "runs.retention.maxAge")
	base = append(base, "--set", "runs.retention.maxRuns=3")
	out, err := run(t, append([]string{"retention", "--dry-run"}, base...)...)
	require.NoError(t, err)
	require.Contains(t, out, "0 runs with 0 actions would be deleted")
	out, err = run(t, append([]string{"retention", "--now"}, base...)...)
	require.NoError(t, err)
	require.Contains(t, out, "deleted 0 runs")
	_, err = run(t, append([]string{"retention"}, base...)...)
	require.ErrorContains(t, err, "dry-run")
}
