package stack

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/supervise"
)

// Process is a program that faults kill and the suite starts again. It dies with this process.
type Process struct {
	Log  string // file with the output of all its runs
	spec supervise.Spec

	mu  sync.Mutex
	run *supervise.Process // GUARDED_BY(mu): the latest; nil before the first start
}

// stopGrace is how long a process may take to end after SIGTERM.
const stopGrace = 20 * time.Second

func newProcess(dir, name, program string, env []string, args ...string) *Process {
	log := filepath.Join(dir, name+".log")
	return &Process{Log: log, spec: supervise.Spec{
		Name: name, Path: program, Args: args, Env: append(os.Environ(), env...), Dir: dir, LogFile: log, StopGrace: stopGrace,
	}}
}

// Start starts or restarts the program.
func (p *Process) Start() error {
	run, err := supervise.Start(p.spec)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.run = run
	return nil
}

func (p *Process) latest() *supervise.Process {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.run
}

// Pid is the process id of the latest run; 0 before the first.
func (p *Process) Pid() int {
	if run := p.latest(); run != nil {
		return run.Pid()
	}
	return 0
}

// Activity changes while the program does something: it is started again, or it logs.
type Activity struct {
	pid    int
	logged int64
}

// Activity is that of the program until now.
func (p *Process) Activity() Activity {
	now := Activity{pid: p.Pid()}
	if log, err := os.Stat(p.Log); err == nil {
		now.logged = log.Size()
	}
	return now
}

// Done is closed when the latest run has ended.
func (p *Process) Done() <-chan struct{} { return p.latest().Done() }

// Signal sends a signal, if the program runs.
func (p *Process) Signal(signal syscall.Signal) {
	if run := p.latest(); run != nil {
		run.Signal(signal)
	}
}

// Kill ends the program at once and waits.
func (p *Process) Kill() {
	if run := p.latest(); run != nil {
		run.Kill()
	}
}

// Stop sends SIGTERM, and SIGKILL after stopGrace. A program that a fault has stopped is continued first.
func (p *Process) Stop() {
	if run := p.latest(); run != nil {
		run.Signal(syscall.SIGCONT)
		run.Stop(context.Background())
	}
}

// await calls ready until it works, the program ends or the context does.
func (p *Process) await(ctx context.Context, ready func(context.Context) error) error {
	return p.latest().AwaitReady(ctx, clock.System{}, supervise.Patience{}, 20*time.Millisecond, ready)
}
