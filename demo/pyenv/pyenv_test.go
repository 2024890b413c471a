package pyenv_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/demo/pyenv"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func program(t *testing.T, path, script string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755))
}

// ensure is pyenv.Ensure without output.
func ensure(t *testing.T, dir string) error {
	t.Helper()
	return pyenv.Ensure(t.Context(), dir, io.Discard, clock.System{}, nil)
}

func TestCheckSaysHowToGetTheSDK(t *testing.T) {
	dir := t.TempDir()
	require.ErrorContains(t, pyenv.Check(dir), "pip install flyte")
	program(t, filepath.Join(dir, "bin", "a0"), "")
	require.NoError(t, pyenv.Check(dir))
	require.NoError(t, ensure(t, dir), "a complete environment is not changed")
}

func TestEnsureSaysWhatIsMissing(t *testing.T) {
	path := t.TempDir()
	t.Setenv("UV", "")
	t.Setenv("PATH", path)
	target := filepath.Join(t.TempDir(), "env")
	require.ErrorContains(t, ensure(t, target), "python3 python3-venv")

	program(t, filepath.Join(path, "python3"), "echo 'ensurepip is not available' >&2\nexit 1\n")
	require.ErrorContains(t, ensure(t, target), "apt-get install python3-venv")
}

func TestEnsureInstallsTheRelease(t *testing.T) {
	path := t.TempDir()
	target := filepath.Join(t.TempDir(), "env")
	t.Setenv("PATH", path+":/bin:/usr/bin")
	// A python3 whose venv is a script that "installs" a0 when asked for the pinned release.
	program(t, filepath.Join(path, "python3"), `mkdir -p "$4/bin"
cat > "$4/bin/python" <<'END'
#!/bin/sh
case "$*" in *"`+pyenv.Requirement+" "+pyenv.Installer+`") touch "$(dirname "$0")/a0";; *) echo "$@"; exit 3;; esac
END
chmod +x "$4/bin/python"
`)
	require.NoError(t, ensure(t, target))
	require.FileExists(t, filepath.Join(target, "bin", "a0"))
}

func TestTheLibraryIsWrittenOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "library")
	require.NoError(t, pyenv.WriteLibrary(dir))
	require.FileExists(t, filepath.Join(dir, "flyte_binary_demo-1.dist-info", "entry_points.txt"))
	module := filepath.Join(dir, "flyte_binary_demo.py")
	first, err := os.Stat(module)
	require.NoError(t, err)
	require.NoError(t, pyenv.WriteLibrary(dir))
	again, err := os.Stat(module)
	require.NoError(t, err)
	require.Equal(t, first.ModTime(), again.ModTime(), "tasks may be reading it")
	require.NoError(t, os.WriteFile(module, []byte("old"), 0o600))
	require.NoError(t, pyenv.WriteLibrary(dir))
	content, err := os.ReadFile(module)
	require.NoError(t, err)
	require.Contains(t, string(content), pyenv.StoreVariable)
}
