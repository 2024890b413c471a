package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/flyte-binary/flyte-binary/demo/node/shim"
)

// ErrNeverStarted means that no process was created for a directory: it is safe to start one.
var ErrNeverStarted = errors.New("the container was never started")

// Attach finds the run of a container that an earlier node started in dir. Whether it still runs, has ended or was lost
// shows in the Process.
func Attach(dir string) (*Process, error) {
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR, 0o600)
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrNeverStarted
	}
	if err != nil {
		return nil, fmt.Errorf("open the container's lock: %w", err)
	}
	free := tryLock(lock)
	state, err := shim.ReadState(filepath.Join(dir, stateFile))
	if errors.Is(err, os.ErrNotExist) && free {
		return nil, errors.Join(ErrNeverStarted, lock.Close())
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, errors.Join(err, lock.Close())
	}
	p := newProcess(state.ID, dir, nil)
	p.state = state
	if free {
		_ = lock.Close()
		p.conclude()
		return p, nil
	}
	// The shim has the other end, unless it is just ending.
	if control, err := os.OpenFile(filepath.Join(dir, pipeFile), os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
		p.control = control
	}
	if state.Phase == shim.Running {
		close(p.started)
	}
	go p.watch(lock)
	go p.guard()
	return p, nil
}

// watch waits until the shim releases its lock.
func (p *Process) watch(lock *os.File) {
	defer func() { _ = lock.Close() }()
	ticker := time.NewTicker(attachInterval)
	defer ticker.Stop()
	for range ticker.C {
		if tryLock(lock) {
			p.conclude()
			return
		}
		if p.State().Phase == shim.Running {
			continue
		}
		// The shim was just starting when the node before us died.
		state, err := shim.ReadState(filepath.Join(p.dir, stateFile))
		if err != nil {
			continue
		}
		p.mu.Lock()
		p.id = state.ID
		p.mu.Unlock()
		if state.Phase == shim.Running {
			p.observe(state)
		}
	}
}

func tryLock(file *os.File) bool {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
