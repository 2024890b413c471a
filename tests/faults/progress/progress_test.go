package progress_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/tests/faults/progress"
)

func TestWhatPassedIsRemembered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "storms")
	first, err := progress.Open(path)
	require.NoError(t, err)
	require.False(t, first.Passed(1, " -clusters"))
	require.NoError(t, first.Note(1, " -clusters", true))
	require.NoError(t, first.Note(2, " -clusters", false))
	require.True(t, first.Passed(1, " -clusters"))

	later, err := progress.Open(path)
	require.NoError(t, err)
	require.True(t, later.Passed(1, " -clusters"))
	require.False(t, later.Passed(2, " -clusters"), "it failed")
	require.False(t, later.Passed(1, ""), "other flags make another storm of the seed")
	require.NoError(t, later.Note(2, " -clusters", true))
	require.True(t, later.Passed(2, " -clusters"))

	nothing, err := progress.Open("")
	require.NoError(t, err)
	require.NoError(t, nothing.Note(1, "", true))
	require.False(t, nothing.Passed(1, ""))
}
