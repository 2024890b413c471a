package recipe_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/demo/imagebuild/recipe"
	b "github.com/flyte-binary/flyte-binary/gen/flyteidl2/imagebuilder"
)

// What is not known to be harmless is refused: files of the machine, places elsewhere, and options that no one has thought of.
func TestOnlyKnownOptionsReachTheInstaller(t *testing.T) {
	t.Parallel()
	with := func(args string) error {
		_, err := of(t, pip(&b.PipPackages{Packages: []string{"a"}, Options: &b.PipOptions{ExtraArgs: args}}))
		return err
	}
	for _, allowed := range []string{
		"", "--no-deps", "--upgrade -q", "--no-cache-dir --pre", "--constraint constraints.txt", "-c=sub/c.txt", "-csub/c.txt", "--index-strategy=unsafe-best-match",
		"--index-strategy unsafe-best-match", "--find-links wheels", "--find-links https://x/y", "--no-binary numpy --only-binary=:all:",
		"--extra-index-url https://x/simple", "--torch-backend=cpu", "--config-setting x", "--resolution lowest",
	} {
		require.NoError(t, with(allowed), allowed)
	}
	for refused, why := range map[string]string{
		"--constraint /etc/shadow": "want a relative path", "-c/etc/shadow": "want a relative path", "--override ../../etc/passwd": "want a relative path",
		"--find-links /etc": "want a relative path", "--index-url /etc/passwd": "want a URL", "--from-the-next-release x": "is not allowed",
		"--target=/etc": "is not allowed", "-t/etc": "is not allowed", "--prefix /": "is not allowed", "-r /etc/passwd": "is not allowed",
		"--system": "is not allowed", "--python /usr/bin/python3": "is not allowed", "--directory /": "is not allowed", "-C x": "is not allowed",
		"--config-file x": "is not allowed", "--cache-dir x": "is not allowed", "--link-mode symlink": "is not allowed", "-qv": "is not allowed",
		"--constraint": "needs a value", "--constraint --no-deps": "needs a value", "--no-deps=1": "has no value", "x": "is not an option", "--no-deps x": "is not an option",
	} {
		require.ErrorContains(t, with(refused), why, refused)
	}
	for args, why := range map[string]string{"--no-root --with dev": "", "-E x": "", "--project /": "is not allowed", "-C/": "is not allowed", "-P /": "is not allowed"} {
		_, err := of(t, poetry(&b.PoetryProject{Pyproject: "p", PoetryLock: "l", ExtraArgs: args}))
		if why == "" {
			require.NoError(t, err, args)
		} else {
			require.ErrorContains(t, err, why, args)
		}
	}
}

func TestPixiIsRefusedInItsOwnWords(t *testing.T) {
	t.Parallel()
	_, err := of(t, apt("curl"), commands("if [ ! -x /opt/pixi/bin/pixi ]; then curl -fsSL https://pixi.sh/install.sh | PIXI_HOME=/opt/pixi bash; fi"))
	require.ErrorContains(t, err, "the image is made by pixi")
	require.ErrorContains(t, err, "with_pip_packages")
}

func TestTheVersionsOfPythonThatAProjectWants(t *testing.T) {
	t.Parallel()
	for wanted, refused := range map[string]bool{
		`requires-python = ">=3.12"`: true, `requires-python = ">=3.11"`: false, `requires-python = ">=3.9,<3.11"`: true, `requires-python = ">=3.9,<3.12"`: false,
		`requires-python = "==3.12.*"`: true, `requires-python = "~=3.10"`: false, `requires-python = "~=3.12"`: true, `requires-python = "~=3.10.2"`: true,
		`requires-python = ">= 3.13"`: true, `requires-python = ">=3"`: false, `requires-python = "whatever"`: false, `python = "^3.12"`: true, `python = "^3.9"`: false,
		`requires-python = ">3.10"`: false, `requires-python = "<=3.10"`: true, `name = "x"`: false, `requires-python = ">=3.11.5"`: false, `requires-python = "<3.11.5"`: false,
	} {
		err := recipe.CheckPython([]byte("[project]\n"+wanted+"\n"), "3.11")
		require.Equal(t, refused, err != nil, "%s: %v", wanted, err)
	}
}
