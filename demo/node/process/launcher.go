package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/flyte-binary/flyte-binary/demo/node/shim"
)

// Launcher starts containers.
type Launcher struct {
	// Executable is the binary that runs a shim when its first argument is shim.Command.
	Executable string
	// LogBytes is the size at which a container's log is rotated; 0 means never.
	LogBytes int64
	// MemoryInterval is how often memory limits are checked where the kernel does not enforce them.
	MemoryInterval time.Duration
	// Cgroups is where containers get a cgroup of their own, nil for nowhere.
	Cgroups *Cgroups
}

// Command is one process to run.
type Command struct {
	ID          string // unique on this machine
	Path        string // executable
	Argv        []string
	Env         []string
	Dir         string
	Mounts      []shim.Mount
	MemoryBytes int64
	Notice      string // first lines of the log, not from the process
	Security    shim.Security
	Port        *shim.Port // that the process has instead of its own; nil for none
	Network     *shim.Network
	Forker      Forker // nil for a cold start
}

// Forker starts shims whose container's process exists already and waits for its spec: a warm parent (package warm).
type Forker interface {
	// Fork starts a shim with these files as its standard input and its files from shim.ReportFD on. It is not a child of
	// this process. After an error there is none, or it will read from its input what it is sent.
	Fork(input, report, lock, control *os.File) error
	// Result is called once for each Fork: the process runs and came from the fork, or it runs after a cold start and
	// failure says why, or both are empty because it never ran.
	Result(warm bool, failure string)
}

// Start runs the command with dir, which must exist, as the place of its log and state. The returned Process
// reports its outcome; an error means that no process was created.
func (l *Launcher) Start(dir string, c Command) (*Process, error) {
	spec := shim.Spec{
		ID: c.ID, Path: c.Path, Argv: c.Argv, Env: append(c.Env[:len(c.Env):len(c.Env)], shim.Marker+"="+c.ID), Dir: c.Dir,
		LogFile: filepath.Join(dir, LogFile), LogBytes: l.LogBytes, StateFile: filepath.Join(dir, stateFile),
		Mounts: c.Mounts, MemoryBytes: c.MemoryBytes, MemoryInterval: l.MemoryInterval,
		Notice: c.Notice, Security: c.Security, Port: c.Port, Network: c.Network,
	}
	spec.Cgroup, spec.CgroupLimits = l.Cgroups.make(c.ID, c.MemoryBytes)
	body, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encode container: %w", err)
	}
	if err := createLog(spec.LogFile); err != nil {
		return nil, fmt.Errorf("create the container's log: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the container's lock: %w", err)
	}
	// The shim inherits the lock with the open file, so there is no moment at which a living shim does not hold it.
	defer func() { _ = lock.Close() }()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, fmt.Errorf("lock the container: %w", err)
	}
	control, err := makeControl(filepath.Join(dir, pipeFile))
	if err != nil {
		return nil, fmt.Errorf("create the container's control pipe: %w", err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create the container's report pipe: %w", err), control.Close())
	}
	defer func() { _ = write.Close() }()
	began, err := l.startShim(c.Forker, write, lock, control)
	if err != nil {
		return nil, errors.Join(err, control.Close(), read.Close())
	}
	p := newProcess(c.ID, dir, control)
	p.state.Cgroup = spec.Cgroup
	go p.follow(began, read, body)
	go p.guard()
	return p, nil
}

// begun is a shim that waits for its spec.
type begun struct {
	feed   *os.File  // takes the spec
	cmd    *exec.Cmd // nil if the shim is not a child of this process
	forker Forker    // that started it, or could not; nil for none
	failed string    // why it could not
}

// tell passes on how the process was started. It runs on one goroutine.
func (b *begun) tell(state shim.State) {
	if b.forker == nil {
		return
	}
	failure := b.failed
	if failure == "" {
		failure = state.Refused
	}
	b.forker.Result(state.Warm, failure)
	b.forker = nil
}

// startShim starts a shim: from the forker, or where that fails or there is none, as a child of this process.
func (l *Launcher) startShim(forker Forker, report, lock, control *os.File) (*begun, error) {
	b := &begun{forker: forker}
	if forker != nil {
		input, feed, err := os.Pipe()
		if err != nil {
			return nil, fmt.Errorf("create the container's input pipe: %w", err)
		}
		err = forker.Fork(input, report, lock, control)
		_ = input.Close()
		if err == nil {
			b.feed = feed
			return b, nil
		}
		// Should a shim come into being after all, it reads the end of its input and starts nothing.
		_ = feed.Close()
		b.failed = err.Error()
	}
	input, feed, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("create the container's input pipe: %w", err)
	}
	defer func() { _ = input.Close() }()
	b.feed, b.cmd = feed, exec.Command(l.Executable, shim.Command) //nolint:noctx // the shim outlives this process on purpose
	b.cmd.Stdin = input
	b.cmd.ExtraFiles = []*os.File{report, lock, control}
	b.cmd.Env = shim.Environment()                         // the shim needs none of this process's variables
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it must survive the terminal and this process
	if err := b.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the container's shim: %w", err), feed.Close())
	}
	return b, nil
}

// createLog creates an empty log, so that it can be read before the shim opens it.
func createLog(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// makeControl creates the pipe for commands. It is also open for reading, so that it keeps a command until the shim reads it.
func makeControl(path string) (*os.File, error) {
	if err := syscall.Mkfifo(path, 0o600); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	return os.OpenFile(path, os.O_RDWR, 0)
}
