package pyenv_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/demo/pyenv"
)

func TestChoose(t *testing.T) {
	root := t.TempDir()
	withSDK, without, own := filepath.Join(root, "sdk"), filepath.Join(root, "plain"), filepath.Join(root, "own")
	program(t, filepath.Join(withSDK, "bin", "python"), "")
	program(t, filepath.Join(withSDK, "bin", "a0"), "")
	program(t, filepath.Join(without, "bin", "python"), "")

	for name, one := range map[string]struct {
		wanted, virtual, conda string
		want                   pyenv.Environment
	}{
		"nothing active":       {"", "", "", pyenv.Environment{Dir: own, Own: true, Why: "the demo's own"}},
		"virtual environment":  {"", withSDK, without, pyenv.Environment{Dir: withSDK, Why: "the active virtual environment"}},
		"conda environment":    {"", "", withSDK, pyenv.Environment{Dir: withSDK, Why: "the active conda environment"}},
		"the given one wins":   {without, withSDK, "", pyenv.Environment{Dir: without, Why: "given"}},
		"no path of a machine": {"", "relative", "", pyenv.Environment{Dir: own, Own: true, Why: "the demo's own"}},
		"an active one without the SDK": {"", without, "", pyenv.Environment{
			Dir: own, Own: true, Why: "the demo's own, since the active virtual environment " + without + " has no Flyte SDK",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("VIRTUAL_ENV", one.virtual)
			t.Setenv("CONDA_PREFIX", one.conda)
			chosen, err := pyenv.Choose(one.wanted, own)
			require.NoError(t, err)
			require.Equal(t, one.want, chosen)
		})
	}
}

func TestUVIsUsedWhereItIs(t *testing.T) {
	path := t.TempDir()
	t.Setenv("PATH", path+":/bin:/usr/bin")
	target := filepath.Join(t.TempDir(), "env")
	// A uv that "creates" an environment, and "installs" a0 when asked for the pinned release.
	uv := filepath.Join(path, "uv")
	program(t, uv, `last=$(eval echo \$$#)
case "$1" in
venv) mkdir -p "$last/bin" ;;
pip) case "$*" in *"`+pyenv.Requirement+" "+pyenv.Installer+`") touch "$(dirname "$5")/a0" ;; esac ;;
esac
`)
	for _, named := range []string{uv, ""} {
		t.Setenv("UV", named)
		require.NoError(t, ensure(t, filepath.Join(target, filepath.Base(named))))
	}
	program(t, uv, "echo no network >&2\nexit 1\n")
	require.ErrorContains(t, ensure(t, filepath.Join(target, "other")), "no network")
}
