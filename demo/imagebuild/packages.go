package imagebuild

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/flyte-binary/flyte-binary/demo/imagebuild/recipe"
)

// install installs packages. Requirements reach the installer by a file, and addresses by variables: arguments can be seen
// by every user of the machine.
func (w *worker) install(ctx context.Context, step *recipe.Install, secrets []secret) error {
	args := []string{"pip", "install"}
	input := ""
	if step.Wheels != "" {
		if err := w.wheel(ctx, step); err != nil {
			return err
		}
		args = append(args, "--find-links", step.Wheels)
	}
	if len(step.Packages) > 0 {
		w.build.say("Packages: %s", strings.Join(step.Packages, ", "))
		for _, name := range step.Packages {
			input += expand(name, secrets) + "\n"
		}
		args = append(args, "--requirement", "-")
	}
	if step.File != "" {
		if err := w.exists(step.File); err != nil {
			return err
		}
		args = append(args, "--requirement", step.File)
	}
	flags, env := optionsOf(step.Options, secrets)
	return w.run(ctx, tool{args: append(args, flags...), env: env, input: input, secrets: secrets})
}

// wheel installs a package from the client's wheels alone: an index may have another one of the name. What it depends on is
// installed afterwards.
func (w *worker) wheel(ctx context.Context, step *recipe.Install) error {
	if err := w.exists(step.Wheels); err != nil {
		return err
	}
	args := []string{"pip", "install", "--no-index", "--no-deps", "--reinstall", "--find-links", step.Wheels, "--requirement", "-"}
	return w.run(ctx, tool{args: args, input: strings.Join(step.Packages, "\n") + "\n"})
}

// sync installs a project of uv. Packages that the environment has already stay.
func (w *worker) sync(ctx context.Context, step *recipe.Sync, secrets []secret) error {
	if err := w.exists(filepath.Join(step.Project, "pyproject.toml")); err != nil {
		return err
	}
	if err := w.supportsPython(filepath.Join(step.Project, "pyproject.toml")); err != nil {
		return err
	}
	args := []string{"sync", "--active", "--inexact", "--no-editable", "--project", step.Project}
	if step.Lock != "" {
		if err := w.exists(step.Lock); err != nil {
			return err
		}
		// uv looks for its lock file in the project only.
		place := filepath.Join(step.Project, "uv.lock")
		if filepath.Clean(step.Lock) != place {
			body, err := w.read(step.Lock)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(w.context, place), body, 0o600); err != nil {
				return err
			}
		}
		args = append(args, "--frozen")
	}
	flags, env := optionsOf(step.Options, secrets)
	return w.run(ctx, tool{args: append(args, flags...), env: env, secrets: secrets})
}

// poetryRequirement is the release of Poetry that installs projects.
const poetryRequirement = "poetry==2.5.1"

// poetry installs a project of Poetry with Poetry itself, which is installed into an environment of its own.
func (w *worker) poetry(ctx context.Context, step *recipe.Poetry, secrets []secret) error {
	dir := step.Dir()
	for _, name := range []string{filepath.Join(dir, "pyproject.toml"), step.Lock} {
		if err := w.exists(name); err != nil {
			return err
		}
	}
	if err := w.supportsPython(filepath.Join(dir, "pyproject.toml")); err != nil {
		return err
	}
	if place := filepath.Join(dir, "poetry.lock"); filepath.Clean(step.Lock) != place {
		body, err := w.read(step.Lock)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(w.context, place), body, 0o600); err != nil {
			return err
		}
	}
	args := []string{"tool", "run", "--python", w.python, poetryRequirement, "install", "--no-interaction", "--no-ansi", "--directory", dir}
	env := []string{"POETRY_VIRTUALENVS_CREATE=false", "POETRY_CACHE_DIR=" + filepath.Join(w.scratch, "poetry")}
	return w.run(ctx, tool{args: append(args, step.Args...), env: env, secrets: secrets})
}

// supportsPython checks that a project can be installed into the environment.
func (w *worker) supportsPython(file string) error {
	body, err := w.read(file)
	if err != nil {
		return err
	}
	return recipe.CheckPython(body, w.plan.Python)
}

// optionsOf are the options of the installer as arguments and variables.
func optionsOf(options recipe.Options, secrets []secret) (flags, env []string) {
	if options.IndexURL != "" {
		env = append(env, "UV_DEFAULT_INDEX="+expand(options.IndexURL, secrets))
	}
	if len(options.ExtraIndexURLs) > 0 {
		var all []string
		for _, address := range options.ExtraIndexURLs {
			all = append(all, expand(address, secrets))
		}
		env = append(env, "UV_INDEX="+strings.Join(all, " "))
	}
	if options.Pre {
		flags = append(flags, "--prerelease=allow")
	}
	for _, arg := range options.Args {
		if arg == "--pre" { // pip's name for it
			arg = "--prerelease=allow"
		}
		flags = append(flags, arg)
	}
	return flags, env
}

// exists checks that the client has sent a file or directory.
func (w *worker) exists(name string) error {
	root, err := os.OpenRoot(w.context)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if _, err := root.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the client has not sent the file %s", name)
	} else if err != nil {
		return fmt.Errorf("the file %s of the client: %w", name, err)
	}
	return nil
}

func (w *worker) read(name string) ([]byte, error) {
	root, err := os.OpenRoot(w.context)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	return root.ReadFile(name)
}
