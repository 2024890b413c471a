package recipe_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/demo/environments"
	"github.com/flyte-binary/flyte-binary/demo/imagebuild/recipe"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	b "github.com/flyte-binary/flyte-binary/gen/flyteidl2/imagebuilder"
)

const own = "flyte==9.9.9"

func of(t *testing.T, layers ...*b.Layer) (*recipe.Recipe, error) {
	t.Helper()
	return recipe.Of(&b.ImageSpec{BaseImage: "ghcr.io/flyteorg/flyte:py3.12-v2.12.1", PythonVersion: "3.11", Layers: layers}, own)
}

func pip(layer *b.PipPackages) *b.Layer {
	return &b.Layer{Layer: &b.Layer_PipPackages{PipPackages: layer}}
}
func requirements(layer *b.Requirements) *b.Layer {
	return &b.Layer{Layer: &b.Layer_Requirements{Requirements: layer}}
}
func wheels(layer *b.PythonWheels) *b.Layer {
	return &b.Layer{Layer: &b.Layer_PythonWheels{PythonWheels: layer}}
}
func project(layer *b.UVProject) *b.Layer {
	return &b.Layer{Layer: &b.Layer_UvProject{UvProject: layer}}
}
func poetry(layer *b.PoetryProject) *b.Layer {
	return &b.Layer{Layer: &b.Layer_PoetryProject{PoetryProject: layer}}
}
func apt(names ...string) *b.Layer {
	return &b.Layer{Layer: &b.Layer_AptPackages{AptPackages: &b.AptPackages{Packages: names}}}
}
func commands(lines ...string) *b.Layer {
	return &b.Layer{Layer: &b.Layer_Commands{Commands: &b.Commands{Cmd: lines}}}
}
func workdir(dir string) *b.Layer {
	return &b.Layer{Layer: &b.Layer_Workdir{Workdir: &b.WorkDir{Workdir: dir}}}
}
func files(src, dst string) *b.Layer {
	return &b.Layer{Layer: &b.Layer_CopyConfig{CopyConfig: &b.CopyConfig{Src: src, Dst: dst}}}
}
func env(variables map[string]string) *b.Layer {
	return &b.Layer{Layer: &b.Layer_Env{Env: &b.Env{EnvVariables: variables}}}
}

func TestEveryLayerIsTranslated(t *testing.T) {
	t.Parallel()
	options := &b.PipOptions{
		IndexUrl: "https://u:$TOKEN@index/simple", ExtraIndexUrls: []string{"http://other/simple"}, Pre: true, ExtraArgs: "--no-deps  --index-strategy unsafe-best-match",
	}
	want := recipe.Options{
		IndexURL: "https://u:$TOKEN@index/simple", ExtraIndexURLs: []string{"http://other/simple"}, Pre: true,
		Args: []string{"--no-deps", "--index-strategy", "unsafe-best-match"},
	}
	mounts := []*core.Secret{{Group: "g", Key: "my-key"}, {Key: "k", EnvVar: "TOKEN"}}
	secrets := []recipe.Secret{{File: "g/my-key", Variable: "G_MY_KEY"}, {File: "k", Variable: "TOKEN"}}
	for name, test := range map[string]struct {
		layer *b.Layer
		step  recipe.Step
	}{
		"packages": {
			pip(&b.PipPackages{Packages: []string{"a==1", "b[c]>2; python_version > '3'"}, Options: options, SecretMounts: mounts}),
			recipe.Step{Install: &recipe.Install{Packages: []string{"a==1", "b[c]>2; python_version > '3'"}, Options: want}, Secrets: secrets},
		},
		"requirements": {
			requirements(&b.Requirements{File: "_flyte_abs_context/home/r.txt", SecretMounts: mounts}),
			recipe.Step{Install: &recipe.Install{File: "_flyte_abs_context/home/r.txt"}, Secrets: secrets},
		},
		"wheels": {
			wheels(&b.PythonWheels{Dir: "dist", PackageName: "mine"}),
			recipe.Step{Install: &recipe.Install{Packages: []string{"mine"}, Wheels: "dist"}},
		},
		"a project of uv": {
			project(&b.UVProject{Pyproject: ".", Uvlock: "uv.lock", Options: &b.PipOptions{ExtraArgs: "--no-install-project"}}),
			recipe.Step{Sync: &recipe.Sync{Project: ".", Lock: "uv.lock", Options: recipe.Options{Args: []string{"--no-install-project"}}}},
		},
		"a project of Poetry": {
			poetry(&b.PoetryProject{Pyproject: "p/pyproject.toml", PoetryLock: "p/poetry.lock", ExtraArgs: " --no-root"}),
			recipe.Step{Poetry: &recipe.Poetry{Project: "p/pyproject.toml", Lock: "p/poetry.lock", Args: []string{"--no-root"}}},
		},
		"system packages": {
			apt("git", "libfoo-dev:amd64", "g++=12"), recipe.Step{System: &recipe.System{Packages: []string{"git", "libfoo-dev", "g++"}}},
		},
		"a command": {commands("echo 'hi' > f"), recipe.Step{Command: &recipe.Command{Line: "echo 'hi' > f", Dir: "/root"}}},
		"a file":    {files("data/a.csv", "."), recipe.Step{Copy: &recipe.Copy{From: "data/a.csv", To: "/root/"}}},
		"a tree":    {files("src", "./src"), recipe.Step{Copy: &recipe.Copy{From: "src", To: "/root/src"}}},
		"an absolute path in the working directory": {files("src", "/root/x/"), recipe.Step{Copy: &recipe.Copy{From: "src", To: "/root/x/"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := of(t, test.layer)
			require.NoError(t, err)
			require.Equal(t, []recipe.Step{test.step}, got.Steps)
			require.Empty(t, got.Notes)
		})
	}
}

func TestVariablesAndTheWorkingDirectory(t *testing.T) {
	t.Parallel()
	got, err := of(t, workdir("/app"), workdir("sub"), env(map[string]string{
		"B": "2", "A": "$B", "VIRTUAL_ENV": "/opt/venv", "LD_LIBRARY_PATH": "/usr/local/cuda", "PATH": "/x:$PATH",
	}), files("f", "f"))
	require.NoError(t, err)
	require.Equal(t, "/app/sub", got.WorkDir)
	require.Equal(t, "/app/sub/f", got.Steps[0].Copy.To)
	require.Equal(t, []environments.Variable{{Name: "A", Value: "$B"}, {Name: "B", Value: "2"}, {Name: "PATH", Value: "/x:$PATH"}}, got.Env)
	require.Len(t, got.Notes, 1)
	require.Contains(t, got.Notes[0], "LD_LIBRARY_PATH")
}

func TestTheUserOfTheContainerIsLeftOut(t *testing.T) {
	t.Parallel()
	got, err := of(t, commands("if ! id -u flyte; then useradd --create-home --shell /bin/bash flyte; fi && chown -R flyte:flyte /root", "true"))
	require.NoError(t, err)
	require.Len(t, got.Steps, 1)
	require.Contains(t, got.Notes[0], "user")
}

func TestTheBaseImageSaysWhatComesFirst(t *testing.T) {
	t.Parallel()
	for base, want := range map[string][2]string{
		"ghcr.io/flyteorg/flyte:py3.12-v2.12.1": {"3.12", "flyte==2.12.1"},
		"mirror.example/x/flyte:py3.13-v2.11.0": {"3.13", "flyte==2.11.0"},
		"python:3.10-slim-bookworm":             {"3.10", own},
		"debian:12":                             {"3.11", own},
		"":                                      {"3.11", own},
		"flyte:py3.12-v2; rm -rf":               {"3.12", own},
	} {
		got, err := recipe.Of(&b.ImageSpec{BaseImage: base, PythonVersion: "3.11"}, own)
		require.NoError(t, err)
		require.Equal(t, want, [2]string{got.Python, got.SDK}, base)
	}
	for _, version := range []string{"", "2.7", "--system", "3.11; x", "3"} {
		_, err := recipe.Of(&b.ImageSpec{PythonVersion: version}, own)
		require.ErrorContains(t, err, "python_version", version)
	}
}

func TestBadLayersAreNamed(t *testing.T) {
	t.Parallel()
	for want, layer := range map[string]*b.Layer{
		"layer 2: pip_packages.packages: at least one":                  pip(&b.PipPackages{}),
		"pip_packages.packages[0]: is empty":                            pip(&b.PipPackages{Packages: []string{" "}}),
		"pip_packages.packages[1]: is an option":                        pip(&b.PipPackages{Packages: []string{"a", " --target=/etc"}}),
		"pip_packages.packages[0]: has a line break":                    pip(&b.PipPackages{Packages: []string{"a\n-r /etc/passwd"}}),
		"pip_packages.packages[0]: is a path":                           pip(&b.PipPackages{Packages: []string{"/home/me/secret"}}),
		"pip_packages.options.index_url: want a URL":                    pip(&b.PipPackages{Packages: []string{"a"}, Options: &b.PipOptions{IndexUrl: "--x"}}),
		"pip_packages.options.extra_index_urls[0]: want a URL":          pip(&b.PipPackages{Packages: []string{"a"}, Options: &b.PipOptions{ExtraIndexUrls: []string{"http://a b"}}}),
		"the option --target is not allowed":                            pip(&b.PipPackages{Packages: []string{"a"}, Options: &b.PipOptions{ExtraArgs: "--target=/etc"}}),
		"the option -t is not allowed":                                  pip(&b.PipPackages{Packages: []string{"a"}, Options: &b.PipOptions{ExtraArgs: "-t/etc"}}),
		"quotes, backslashes and control characters are not supported":  pip(&b.PipPackages{Packages: []string{"a"}, Options: &b.PipOptions{ExtraArgs: "'a'"}}),
		"\"b\" is not an option":                                        pip(&b.PipPackages{Packages: []string{"a"}, Options: &b.PipOptions{ExtraArgs: "b"}}),
		"requirements.file: want a relative path":                       requirements(&b.Requirements{File: "../../etc/passwd"}),
		"python_wheels.dir: want a relative path":                       wheels(&b.PythonWheels{Dir: "/dist", PackageName: "a"}),
		"python_wheels.package_name: is an option":                      wheels(&b.PythonWheels{Dir: "dist", PackageName: "-r x"}),
		"uv_project.pyproject: want a relative path":                    project(&b.UVProject{Pyproject: "--config-file=x"}),
		"uv_project.uvlock: want a relative path":                       project(&b.UVProject{Pyproject: "p", Uvlock: "p/../../x"}),
		"poetry_project.poetry_lock: want a relative path":              poetry(&b.PoetryProject{Pyproject: "p"}),
		"apt_packages.packages[0]: \"--force\" is not the name":         apt("--force"),
		"commands.cmd[0]: is empty":                                     commands(" "),
		"workdir: want a path":                                          workdir(""),
		"workdir: \"/..\" is the root directory":                        workdir("/.."),
		"copy_config.src: want a relative path":                         files("..", "x"),
		"copied to /etc/cron.d, outside of the working directory /root": files("x", "/etc/cron.d"),
		"copied to /x, outside of the working directory":                files("x", "../x"),
		"cannot be an environment variable":                             env(map[string]string{"A B": "1"}),
		"its kind is not known":                                         {},
		"secret_mounts: \"../x\" cannot name a secret":                  pip(&b.PipPackages{Packages: []string{"a"}, SecretMounts: []*core.Secret{{Key: "../x"}}}),
		"secret_mounts: a secret has no key":                            pip(&b.PipPackages{Packages: []string{"a"}, SecretMounts: []*core.Secret{{}}}),
		"cannot be the variable \"A-B\"":                                pip(&b.PipPackages{Packages: []string{"a"}, SecretMounts: []*core.Secret{{Key: "a", EnvVar: "A-B"}}}),
	} {
		_, err := of(t, workdir("/root"), layer)
		require.ErrorContains(t, err, want)
	}
}
