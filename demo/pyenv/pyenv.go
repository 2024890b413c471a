// Package pyenv finds or creates the Python environment in which the demo runs tasks: a virtual environment with the
// released Flyte SDK, whose bin directory has the program a0.
package pyenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/supervise"
	"github.com/flyte-binary/flyte-binary/manager/diagnose"
)

// Requirement is what a new environment contains: the release that the tests of this version ran against.
const Requirement = "flyte==2.12.1"

// Installer is the program that makes environments of images, see package imagebuild.
const Installer = "uv==0.13.9"

// Check returns a *diagnose.Failure if tasks cannot run in the environment.
func Check(dir string) error {
	if info, err := os.Stat(filepath.Join(dir, "bin", "a0")); err != nil || info.IsDir() {
		return &diagnose.Failure{
			Part: "Python", Tried: "use " + dir, Cause: "it is not an environment with the Flyte SDK: it has no bin/a0",
			Fix: fmt.Sprintf("create one with `python3 -m venv %s && %s/bin/pip install flyte`", dir, dir),
		}
	}
	return nil
}

// commandTotal is the longest command that is waited for while it makes progress: downloads depend on the network.
const commandTotal = time.Hour

// Ensure creates the environment unless it is complete. progress receives the output of the commands; waiting, where
// set, is called every few seconds with what it waits for. A command that makes no progress is given up.
func Ensure(ctx context.Context, dir string, progress io.Writer, clk clock.Clock, waiting func(text string)) error {
	if Check(dir) == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil { //nolint:gosec // tasks may run as other users
		return fmt.Errorf("create %s: %w", filepath.Dir(dir), err)
	}
	c := commands{progress, clk, waiting}
	if uv := findUV(); uv != "" {
		return c.withUV(ctx, uv, dir)
	}
	python := findPython()
	if python == "" {
		return errors.New("no python3 found: install Python 3.10 or newer (Debian and Ubuntu: " +
			"`apt-get install python3 python3-venv`), or pass an environment that has the Flyte SDK with --python DIR")
	}
	if out, err := c.run(ctx, "python3 -m venv", python, "-m", "venv", "--clear", dir); err != nil {
		if strings.Contains(out, "ensurepip") || strings.Contains(out, "No module named venv") {
			return errors.New("python3 has no venv module: install it (Debian and Ubuntu: `apt-get install python3-venv`)")
		}
		return fmt.Errorf("create a Python environment in %s: %w: %s", dir, err, out)
	}
	out, err := c.run(ctx, "pip install "+Requirement, filepath.Join(dir, "bin", "python"), "-m", "pip", "install",
		"--quiet", "--disable-pip-version-check", "--no-input", Requirement, Installer)
	if err != nil {
		return fmt.Errorf("install %s into %s: %w: %s", Requirement, dir, err, out)
	}
	return Check(dir)
}

// findPython returns the interpreter that creates the environment: that on the PATH, else that of the environment in which this
// program is installed; empty if there is none.
func findPython() string {
	if python, err := exec.LookPath("python3"); err == nil {
		return python
	}
	if python := filepath.Join(aroundProgram(), "bin", "python3"); filepath.IsAbs(python) {
		if _, err := os.Stat(python); err == nil {
			return python
		}
	}
	return ""
}

// commands runs the commands.
type commands struct {
	progress io.Writer
	clock    clock.Clock
	waiting  func(text string)
}

// run returns the end of the program's output, for errors.
func (c commands) run(ctx context.Context, name, program string, args ...string) (string, error) {
	out := &output{progress: c.progress}
	err := supervise.Run(ctx, c.clock, supervise.Patience{Total: commandTotal, Waiting: c.waiting}, supervise.Spec{
		Name: name, Path: program, Args: args, Env: environment(), Output: out,
	})
	return out.String(), err
}

// output passes a stream on and keeps its end.
type output struct {
	progress io.Writer
	lastLines
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	_, _ = o.lastLines.Write(p) // never fails
	return o.progress.Write(p)
}

// lastLines keeps the end of a stream.
type lastLines struct {
	mu   sync.Mutex
	text []byte // GUARDED_BY(mu)
}

func (l *lastLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	const keep = 2 << 10
	l.text = append(l.text, p...)
	if over := len(l.text) - keep; over > 0 {
		l.text = l.text[over:]
	}
	return len(p), nil
}

func (l *lastLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimSpace(string(l.text))
}
