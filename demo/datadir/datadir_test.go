package datadir_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/demo/datadir"
	"github.com/flyte-binary/flyte-binary/manager/diagnose"
)

func TestTwoDemosNeverShareADirectory(t *testing.T) {
	root := filepath.Join(t.TempDir(), "data")
	first, err := datadir.Open(root)
	require.NoError(t, err)

	_, err = datadir.Open(root)
	require.ErrorContains(t, err, "another demo (process "+strconv.Itoa(os.Getpid())+")")
	require.ErrorContains(t, err, "--data-dir")

	require.NoError(t, first.Close())
	second, err := datadir.Open(root)
	require.NoError(t, err)
	require.NoError(t, second.Close())
}

// copied copies a directory as it is, as cp -r does.
func copied(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.CopyFS(to, os.DirFS(from)))
	return to
}

func TestCopiesAreRefused(t *testing.T) {
	original := filepath.Join(t.TempDir(), "data")
	first, err := datadir.Open(original)
	require.NoError(t, err)
	live := copied(t, original)
	require.NoError(t, first.Close())
	stopped := copied(t, original)
	for _, root := range []string{live, stopped, live} {
		_, err = datadir.Open(root)
		require.ErrorContains(t, err, "copy of "+original)
	}

	require.NoError(t, os.Rename(original, original+"-gone"))
	_, err = datadir.Open(live)
	require.ErrorContains(t, err, "before the demo there had stopped")
	moved, err := datadir.Open(stopped)
	require.NoError(t, err, "nothing can be damaged")
	require.NoError(t, moved.Close())
}

func TestDirectoryIsKnownByEveryPath(t *testing.T) {
	base := t.TempDir()
	for _, root := range []string{filepath.Join(base, "data"), filepath.Join(base, "link"), filepath.Join(base, "data")} {
		if filepath.Base(root) == "link" {
			require.NoError(t, os.Symlink(filepath.Join(base, "data"), root))
		}
		dir, err := datadir.Open(root)
		require.NoError(t, err)
		require.NoError(t, dir.Close())
	}
}

func TestSecretsStayTheSameAndPrivate(t *testing.T) {
	root := filepath.Join(t.TempDir(), "data")
	dir, err := datadir.Open(root)
	require.NoError(t, err)
	key, err := dir.Secret("key")
	require.NoError(t, err)
	other, err := dir.Secret("other")
	require.NoError(t, err)
	require.Len(t, key, 64)
	require.NotEqual(t, key, other)
	require.NoError(t, dir.Close())

	dir, err = datadir.Open(root)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dir.Close()) })
	again, err := dir.Secret("key")
	require.NoError(t, err)
	require.Equal(t, key, again)
	info, err := os.Stat(filepath.Join(dir.Secrets(), "key"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	for _, private := range []string{dir.Secrets(), dir.Blobs(), dir.Logs(), dir.Node()} {
		info, err := os.Stat(private)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), private)
	}
}

func TestTemporaryDirectoryIsDeletedWithItsDemo(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir, err := datadir.OpenTemporary()
	require.NoError(t, err)
	require.DirExists(t, dir.Blobs())
	require.NoError(t, dir.Close())
	require.NoDirExists(t, dir.Root())
}

func TestDefaultFollowsTheDataHome(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", "/somewhere")
	path, err := datadir.Default()
	require.NoError(t, err)
	require.Equal(t, "/somewhere/flyte-binary/demo", path)
}

func TestOversizedLogIsRotated(t *testing.T) {
	dir, err := datadir.Open(filepath.Join(t.TempDir(), "data"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dir.Close()) })
	path, err := dir.LogFile("server")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, os.Truncate(path, 17<<20))
	again, err := dir.LogFile("server")
	require.NoError(t, err)
	require.Equal(t, path, again)
	require.NoFileExists(t, path)
	require.FileExists(t, path+".1")
}

// The program exits with code 3 for a *diagnose.Failure, and prints its fix on a line of its own.
func TestWhatIsWrongWithTheDirectoryIsExplained(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	locked := t.TempDir()
	open, err := datadir.Open(locked)
	require.NoError(t, err)
	defer func() { require.NoError(t, open.Close()) }()
	for root, cause := range map[string]string{filepath.Join(file, "below"): "not a directory", locked: "another demo"} {
		_, err := datadir.Open(root)
		var failure *diagnose.Failure
		require.ErrorAs(t, err, &failure)
		require.Equal(t, "data directory", failure.Part)
		require.Contains(t, failure.Tried, root)
		require.Contains(t, failure.Cause, cause)
		require.Contains(t, failure.Fix, "--data-dir")
	}
}
