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
}

// Start runs the command with dir, which must exist, as the place of its log and state. The returned Process
// reports what becomes of it; an error means that no process was created.
func (l *Launcher) Start(dir string, c Command) (*Process, error) {
	spec := shim.Spec{
		ID: c.ID, Path: c.Path, Argv: c.Argv, Env: append(c.Env[:len(c.Env):len(c.Env)], shim.Marker+"="+c.ID), Dir: c.Dir,
		LogFile: filepath.Join(dir, LogFile), LogBytes: l.LogBytes, StateFile: filepath.Join(dir, stateFile),
		Mounts: c.Mounts, MemoryBytes: c.MemoryBytes, MemoryInterval: l.MemoryInterval,
		Notice: c.Notice, Security: c.Security,
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
	input, feed, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create the container's input pipe: %w", err), control.Close(), read.Close())
	}
	defer func() { _ = input.Close() }()

	cmd := exec.Command(l.Executable, shim.Command) //nolint:noctx // the shim outlives this process on purpose
	cmd.Stdin = input
	cmd.ExtraFiles = []*os.File{write, lock, control}
	cmd.Env = []string{"GOMAXPROCS=2", "GOTRACEBACK=single"} // the shim needs nothing of ours
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}     // it must survive the terminal and this process
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the container's shim: %w", err), control.Close(), read.Close(), feed.Close())
	}
	p := newProcess(c.ID, dir, control)
	p.state.Cgroup = spec.Cgroup
	go p.follow(cmd, read, feed, body)
	return p, nil
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
