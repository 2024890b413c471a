package imagebuild

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/demo/environments"
	"github.com/flyte-binary/flyte-binary/demo/imagebuild/recipe"
)

// worker takes the steps of one build.
type worker struct {
	build   *Build
	env     environments.Environment
	plan    *recipe.Recipe
	context string // the client's files
	scratch string
	out     io.Writer
	uv      string // the installer
	python  string // the interpreter that the environment is made with
	copied  bool   // the image has files of the client
}

// HowToInstall says how to get the installer.
const HowToInstall = "install it with `python3 -m pip install uv`, or into the environment of the demo, " +
	"or see https://docs.astral.sh/uv"

// begin makes the environment with the interpreter and the SDK.
func (w *worker) begin(ctx context.Context) error {
	var err error
	if w.uv = variable(w.build.Environ, "UV"); !filepath.IsAbs(w.uv) || !isProgram(w.uv) { // uvx names its own
		w.uv, err = lookPath("uv", variable(w.build.Environ, "PATH"))
	}
	if err != nil {
		return fmt.Errorf("the program uv, which installs packages, is not in PATH: %s", HowToInstall)
	}
	if w.python, err = w.interpreter(ctx, w.plan.Python); err != nil {
		return err
	}
	args := []string{"venv", "--no-project", "--allow-existing", "--python", w.python}
	if w.runsCommands() {
		args = append(args, "--seed") // commands may call pip
	}
	if err := w.run(ctx, tool{args: append(args, w.env.Venv)}); err != nil {
		return fmt.Errorf("create an environment: %w", err)
	}
	return w.run(ctx, tool{args: []string{"pip", "install", w.plan.SDK}})
}

func (w *worker) runsCommands() bool {
	for _, step := range w.plan.Steps {
		if step.Command != nil {
			return true
		}
	}
	return false
}

func (w *worker) take(ctx context.Context, step recipe.Step) error {
	secrets, err := w.secretsOf(step)
	if err != nil {
		return err
	}
	switch {
	case step.Install != nil:
		err = w.install(ctx, step.Install, secrets)
	case step.Sync != nil:
		err = w.sync(ctx, step.Sync, secrets)
	case step.Poetry != nil:
		err = w.poetry(ctx, step.Poetry, secrets)
	case step.Command != nil:
		err = w.command(ctx, step.Command, secrets)
	case step.Copy != nil:
		err = w.copy(step.Copy)
	case step.System != nil:
		err = w.system(ctx, step.System)
	}
	if err != nil || len(secrets) == 0 {
		return err
	}
	return w.forget(secrets)
}

// tool is a call of a program: of uv unless path is set.
type tool struct {
	path    string
	args    []string
	env     []string // wins over the environment of the build
	dir     string   // default: the client's files
	input   string
	secrets []secret
	attr    func(*exec.Cmd)
}

func (t tool) name() string {
	if filepath.Base(t.path) == "uv" {
		return "uv"
	}
	return "the command"
}

// stopGrace is how long a program may take to end after the build was stopped.
const stopGrace = 5 * time.Second

// run calls a program, whose output goes to the log.
func (w *worker) run(ctx context.Context, t tool) error {
	if t.path == "" {
		t.path = w.uv
		w.build.say("$ uv %s", strings.Join(t.args, " "))
	}
	out := &redactor{to: w.out, secrets: t.secrets}
	cmd := exec.CommandContext(ctx, t.path, t.args...)
	cmd.Dir, cmd.Env = t.dir, append(w.environment(t.secrets), t.env...)
	if cmd.Dir == "" {
		cmd.Dir = w.context
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(t.input), out, out
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, stopGrace
	if t.attr != nil {
		t.attr(cmd)
	}
	err := errors.Join(cmd.Run(), out.flush())
	if ctx.Err() != nil {
		return fmt.Errorf("the build was stopped: %w", ctx.Err())
	}
	if err != nil {
		return fmt.Errorf("%s failed (%w); what it printed is above", t.name(), err)
	}
	return nil
}

// environment is what the installer gets: the environment of the build, with settings of its own.
func (w *worker) environment(secrets []secret) []string {
	var env []string
	for _, one := range w.build.Environ {
		name, _, _ := strings.Cut(one, "=")
		// Those of the task that builds, which mean its own interpreter and its own run.
		if !strings.HasPrefix(name, "PYTHON") && !strings.HasPrefix(name, "FLYTE_") && !strings.HasPrefix(name, "_U_") {
			env = append(env, one)
		}
	}
	for _, one := range w.plan.Env {
		// The image's PATH has directories of a container. Programs of this machine are found by the demo's.
		if one.Name != "PATH" {
			env = append(env, one.Name+"="+one.Value)
		}
	}
	for name, value := range map[string]string{
		"UV_CACHE_DIR": w.build.Store.Cache(), "UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1", "NO_COLOR": "1",
		"VIRTUAL_ENV": w.env.Venv, "UV_PROJECT_ENVIRONMENT": w.env.Venv,
	} {
		env = append(env, name+"="+value)
	}
	if w.runsCommands() {
		env = append(env, "UV_LINK_MODE=copy") // a command that edits a file would edit it for all environments
	}
	if variable(env, "UV_SYSTEM_CERTS") == "" && variable(env, "UV_NATIVE_TLS") == "" {
		env = append(env, "UV_SYSTEM_CERTS=1") // as the other programs of this machine
	}
	for pip, uv := range map[string]string{"PIP_INDEX_URL": "UV_DEFAULT_INDEX", "PIP_EXTRA_INDEX_URL": "UV_INDEX"} {
		if value := variable(env, pip); value != "" && variable(env, uv) == "" { // people have set it for pip
			env = append(env, uv+"="+value)
		}
	}
	for _, one := range secrets {
		env = append(env, one.variable+"="+one.value)
	}
	return env
}

// variable is the value of a variable in an environment, empty if it is not set.
func variable(env []string, name string) string {
	value := ""
	for _, one := range env {
		if found, ok := strings.CutPrefix(one, name+"="); ok {
			value = found
		}
	}
	return value
}

// lookPath finds a program in a list of directories.
func lookPath(name, list string) (string, error) {
	for _, dir := range filepath.SplitList(list) {
		file := filepath.Join(dir, name)
		if filepath.IsAbs(dir) && isProgram(file) {
			return file, nil
		}
	}
	return "", exec.ErrNotFound
}
