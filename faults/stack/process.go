package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Process is a child that is started, killed and started again, and ends with us.
type Process struct {
	Name string
	Log  string // file with everything that all its lives said

	program string
	args    []string
	env     []string
	dir     string

	mu   sync.Mutex
	life *life // GUARDED_BY(mu): the latest; nil before the first start
}

// life is one run of the program.
type life struct {
	pid  int
	done chan struct{} // closed when it has ended
	err  error         // how; read after done
}

func newProcess(dir, name, program string, env []string, args ...string) *Process {
	return &Process{Name: name, Log: filepath.Join(dir, name+".log"), program: program, args: args, env: env, dir: dir}
}

// Start starts a new life. The goroutine that starts it stays for as long as it runs: the kernel ties the signal on our death
// to the thread that forked.
func (p *Process) Start() error {
	out, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644) //nolint:gosec // a log
	if err != nil {
		return err
	}
	l := &life{done: make(chan struct{})}
	cmd := exec.Command(p.program, p.args...) //nolint:gosec,noctx // our own programs, stopped by Stop
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = p.dir, out, out, append(os.Environ(), p.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithUs(cmd.SysProcAttr)
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer out.Close()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		l.pid = cmd.Process.Pid
		started <- nil
		l.err = cmd.Wait()
		close(l.done)
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.life = l
	return nil
}

func (p *Process) current() *life {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.life
}

// Pid is the process id of the latest life; 0 before the first.
func (p *Process) Pid() int {
	if l := p.current(); l != nil {
		return l.pid
	}
	return 0
}

// Done is closed when the latest life has ended.
func (p *Process) Done() <-chan struct{} { return p.current().done }

// Alive tells whether the process runs.
func (p *Process) Alive() bool {
	l := p.current()
	if l == nil {
		return false
	}
	select {
	case <-l.done:
		return false
	default:
		return true
	}
}

// Signal sends a signal, if it lives.
func (p *Process) Signal(signal syscall.Signal) {
	if p.Alive() {
		_ = syscall.Kill(p.Pid(), signal) // it may have ended just now
	}
}

// Kill ends the process at once and waits.
func (p *Process) Kill() {
	if l := p.current(); l != nil {
		p.Signal(syscall.SIGKILL)
		<-l.done
	}
}

// stopPatience is how long a process may take to end after it was asked.
const stopPatience = 20 * time.Second

// Stop asks the process to end, and makes it.
func (p *Process) Stop() {
	l := p.current()
	if l == nil {
		return
	}
	p.Signal(syscall.SIGCONT)
	p.Signal(syscall.SIGTERM)
	timer := time.NewTimer(stopPatience)
	defer timer.Stop()
	select {
	case <-l.done:
	case <-timer.C:
		p.Kill()
	}
}

// await tries something until it works, the process ends or the context does.
func (p *Process) await(ctx context.Context, ready func(context.Context) error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	l := p.current()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-l.done:
			return fmt.Errorf("%s ended early; its log is %s: %w", p.Name, p.Log, errors.Join(err, l.err))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready (%w); its log is %s", p.Name, err, p.Log)
		case <-tick.C:
		}
	}
}
