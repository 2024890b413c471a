package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

//go:embed python_tasks.py
var pythonTasks string

// pythonDemo measures real Python tasks in the demo, through the released SDK: single tasks (alternating cold and warm starts), fan-outs
// with one process per task, fan-outs in worker pools, the flyte command, and an image build.
type pythonDemo struct {
	demo, python string // programs; empty for the usual ones
	examples     string // the directory of hello.py and fanout.py
	rounds       int    // tasks alone, of each kind
	tasks        int    // of the larger fan-out and those in pools
}

func (c pythonDemo) measure(ctx context.Context, s *stack.Stack, r *figures.Result) error {
	python, err := pythonWithSDK(c.python)
	if err != nil {
		return err
	}
	examples, err := filepath.Abs(c.examples)
	if err != nil {
		return err
	}
	demo, address, err := stack.StartDemo(ctx, s.Dir, c.demo, filepath.Dir(filepath.Dir(python)))
	if err != nil {
		return err
	}
	defer stack.StopProcess(demo)
	// The SDK uploads the directory of the program, and remembers in HOME what it has uploaded.
	dir := filepath.Join(s.Dir, "python-tasks")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	program := filepath.Join(dir, "python_tasks.py")
	if err := os.WriteFile(program, []byte(pythonTasks), 0o644); err != nil {
		return err
	}
	for _, part := range [][]string{
		{"alone", strconv.Itoa(c.rounds)},
		{"fan-out", strconv.Itoa(max(c.tasks/10, 1))},
		{"fan-out", strconv.Itoa(c.tasks)},
		{"pool", strconv.Itoa(c.tasks)},
		{"command", examples},
		{"image"},
	} {
		command := exec.CommandContext(ctx, python, append([]string{program, address}, part...)...)
		command.Dir = dir
		command.Env = append(os.Environ(), "HOME="+dir, "FLYTE_DISABLE_SENTRY=1")
		if err := reportPython(command, r); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(part, " "), err)
		}
	}
	return nil
}

// pythonWithSDK is the Python of the end-to-end tests, unless another is named.
func pythonWithSDK(python string) (string, error) {
	python, err := filepath.Abs(cmp.Or(python, filepath.Join(".cache", "e2e-python", "bin", "python")))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(python); err != nil {
		return "", fmt.Errorf("no Python with the Flyte SDK: %w; install it with make e2e-python, or name one with -python", err)
	}
	return python, nil
}

// pythonEvent is a line that the Python program prints.
type pythonEvent struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	Began string  `json:"began"`
	Ended string  `json:"ended"`
	Tasks int     `json:"tasks"`
}

// reportPython runs the Python program and records its figures. Between its marks it measures the CPU time of the whole machine, because
// the CPU time of warm tasks does not add up in any process that outlives them.
func reportPython(command *exec.Cmd, r *figures.Result) error {
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	err = takeFigures(out, r, figures.Busy)
	_, _ = io.Copy(io.Discard, out) // after a failure, so that the program can end
	if failure := command.Wait(); failure != nil {
		return fmt.Errorf("%w: %s", errors.Join(failure, err), strings.TrimSpace(said.String()))
	}
	return err
}

// takeFigures reads the lines of the Python program.
func takeFigures(out io.Reader, r *figures.Result, cpu func() (time.Duration, error)) error {
	var before time.Duration
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var event pythonEvent
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return fmt.Errorf("not a figure: %q", lines.Text())
		}
		now, err := cpu()
		if err != nil {
			return err
		}
		switch {
		case event.Began != "":
			before = now
		case event.Ended != "":
			r.Add(event.Ended+", CPU of the machine for each", figures.Milliseconds(now-before)/float64(event.Tasks), "ms")
		default:
			r.Add(event.Name, event.Value, event.Unit)
		}
	}
	return lines.Err()
}
