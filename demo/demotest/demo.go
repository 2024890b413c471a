package demotest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Demo is a demo that runs as a process of its own.
type Demo struct {
	// URL of its port, such as http://localhost:41234.
	URL string
	// DataDir is where it keeps everything.
	DataDir string

	t       testing.TB
	cmd     *exec.Cmd
	output  *output
	exited  chan struct{}
	failure error
}

// startLimit bounds a start. A demo that fails or makes no progress exits earlier.
const startLimit = 20 * time.Minute

// Patience bounds what takes a demo seconds, on a machine that does much else.
const Patience = 5 * time.Minute

var (
	readyLine = regexp.MustCompile(`Ready in \S+: (http://\S+)`)
	dataLine  = regexp.MustCompile(`data in (\S+)`)
)

// Start starts a demo on a free port and returns when it is ready. The demo stops at the end of the test.
func Start(t testing.TB, args ...string) *Demo {
	t.Helper()
	return StartIn(t, Shell{}, args...)
}

// Shell is what the shell of a user has that starts a demo.
type Shell struct {
	// Umask is the mask of file modes, in octal; empty for that of the test.
	Umask string
	// Env are variables besides those of the test, as NAME=value.
	Env []string
}

// StartIn is Start in a shell.
func StartIn(t testing.TB, shell Shell, args ...string) *Demo {
	t.Helper()
	d := &Demo{t: t, output: &output{}, exited: make(chan struct{})}
	command := append([]string{Program(t), "demo", "--listen", "127.0.0.1:0", "--python", Python(t)}, args...)
	if shell.Umask != "" {
		command = append([]string{"/bin/sh", "-c", `umask "$0"; exec "$@"`, shell.Umask}, command...)
	}
	d.cmd = exec.Command(command[0], command[1:]...) //nolint:noctx // the test stops it gracefully
	d.cmd.Env = append(os.Environ(), shell.Env...)
	d.cmd.Stdout, d.cmd.Stderr = d.output, d.output
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(t, d.cmd.Start())
	go func() {
		d.failure = d.cmd.Wait()
		close(d.exited)
	}()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("output of the demo:\n%s", d.Output())
		}
		if !d.Exited() {
			d.Interrupt()
			d.Wait()
		}
	})
	require.Eventually(t, func() bool { return d.Exited() || readyLine.MatchString(d.Output()) }, startLimit, 10*time.Millisecond)
	require.False(t, d.Exited(), d.Output())
	d.URL = readyLine.FindStringSubmatch(d.Output())[1]
	d.DataDir = dataLine.FindStringSubmatch(d.Output())[1]
	return d
}

// Output returns what it has printed so far.
func (d *Demo) Output() string { return d.output.String() }

// Exited reports whether the process has ended.
func (d *Demo) Exited() bool {
	select {
	case <-d.exited:
		return true
	default:
		return false
	}
}

// Interrupt is Ctrl-C.
func (d *Demo) Interrupt() { _ = d.cmd.Process.Signal(syscall.SIGINT) }

// Kill is kill -9 of the process alone.
func (d *Demo) Kill() {
	require.NoError(d.t, d.cmd.Process.Kill())
	<-d.exited
}

// Wait waits for the end and returns the exit code.
func (d *Demo) Wait() int {
	d.t.Helper()
	select {
	case <-d.exited:
	case <-time.After(Patience):
		_ = d.cmd.Process.Kill()
		require.Fail(d.t, "the demo did not end", d.Output())
	}
	return d.cmd.ProcessState.ExitCode()
}

// Child is the process id of the direct child whose command line has the word; 0 when there is none.
func (d *Demo) Child(word string) int {
	for _, pid := range d.Children() {
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && bytes.Contains(line, []byte(word)) {
			return pid
		}
	}
	return 0
}

// Children are the process ids of the direct children.
func (d *Demo) Children() []int {
	var children []int
	entries, err := os.ReadDir("/proc")
	require.NoError(d.t, err)
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if state, parent := stat(pid); parent == d.cmd.Process.Pid && state != "Z" {
			children = append(children, pid)
		}
	}
	return children
}

// Alive reports whether a process runs.
func Alive(pid int) bool {
	state, _ := stat(pid)
	return state != "" && state != "Z"
}

func stat(pid int) (state string, parent int) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0
	}
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	parent, _ = strconv.Atoi(fields[1])
	return fields[0], parent
}

// Run runs the program until it ends.
func Run(t testing.TB, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, Program(t), args...).CombinedOutput()
	return string(out), err
}

// DataDir is a temporary directory that other accounts may traverse: under root, Postgres runs as one of them.
func DataDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "flyte-binary-test-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o711))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return filepath.Join(dir, "data")
}

// Python is the environment for tasks: FLYTE_DEMO_PYTHON, else that of the end-to-end tests, else an empty
// one.
func Python(t testing.TB) string {
	t.Helper()
	if dir := os.Getenv("FLYTE_DEMO_PYTHON"); dir != "" {
		return dir
	}
	prepared := filepath.Join(filepath.Dir(filepath.Dir(Program(t))), ".cache", "e2e-python")
	if exists(filepath.Join(prepared, "bin", "a0")) {
		return prepared
	}
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "bin"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bin", "a0"), []byte("#!/bin/sh\n"), 0o755))
	return dir
}

// output is a buffer for two goroutines.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer // GUARDED_BY mu
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
