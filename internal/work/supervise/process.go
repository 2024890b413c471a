// Package supervise runs child processes. Process is one run of a program: started in a process group of its own, bound
// to the life of this process, stopped by a signal and, after a grace period, by a harder one. Supervisor keeps a program
// running: it restarts it, with backoff, when it dies.
package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Spec describes the program to run.
type Spec struct {
	// Name of the program in errors.
	Name string
	// Path of the program.
	Path string
	// Args without the program's name.
	Args []string
	// Env is the whole environment, as "name=value".
	Env []string
	// Dir is the working directory.
	Dir string
	// Files are inherited from descriptor 3 on. They stay the caller's to close.
	Files []*os.File
	// LogFile receives standard output and error; it is appended to.
	LogFile string
	// Output receives standard output and error if LogFile is empty. If it has a String method, errors quote it.
	Output io.Writer
	// HoldStdin keeps the child's standard input open while this process lives, for UntilOrphaned.
	HoldStdin bool
	// Credential is the user to run as; nil means that of this process.
	Credential *syscall.Credential
	// OrphanSignal is sent by the kernel when this process dies, on Linux only. Default SIGKILL.
	OrphanSignal syscall.Signal
	// StopSignal asks the program to end. Default SIGTERM.
	StopSignal syscall.Signal
	// KillSignal is sent if it did not end in time. Default SIGKILL.
	KillSignal syscall.Signal
	// StopGrace is the time between both; 0 means that only the context of Stop limits it.
	StopGrace time.Duration
}

// Process is one run of a program.
type Process struct {
	spec    Spec
	cmd     *exec.Cmd
	stdin   *os.File
	written *counted // Spec.Output, where that is used
	done    chan struct{}
	err     error // read after done
}

// Start starts a program and returns when it runs. The program runs until it ends or Stop is called.
func Start(spec Spec) (*Process, error) {
	cmd := exec.Command(spec.Path, spec.Args...) //nolint:noctx // the caller's program; it outlives the start and Stop ends it
	cmd.Env, cmd.Dir, cmd.ExtraFiles = spec.Env, spec.Dir, spec.Files
	cmd.SysProcAttr = attributes(spec)
	p := &Process{spec: spec, cmd: cmd, done: make(chan struct{})}
	out := spec.Output
	if _, isFile := out.(*os.File); spec.LogFile == "" && out != nil && !isFile {
		p.written = &counted{to: out}
		out = p.written
	}
	if spec.LogFile != "" {
		file, err := os.OpenFile(spec.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open the log of %s: %w", spec.Name, err)
		}
		defer file.Close()
		out = file
	}
	cmd.Stdout, cmd.Stderr = out, out
	if spec.HoldStdin {
		read, write, err := os.Pipe()
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", spec.Name, err)
		}
		defer read.Close()
		cmd.Stdin, p.stdin = read, write
	}
	started := make(chan error, 1)
	go p.run(started)
	if err := <-started; err != nil {
		p.stdin.Close()
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	return p, nil
}

// run starts the program and waits for its end. The kernel ties the death signal to the thread that forked, so that
// thread has to live as long as the program.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := p.cmd.Start(); err != nil {
		started <- err
		return
	}
	started <- nil
	p.err = p.cmd.Wait()
	p.stdin.Close()
	close(p.done)
}

// Pid is the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Alive reports whether the program runs.
func (p *Process) Alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Err says how the program ended, also if the status is 0. Call it after Done.
func (p *Process) Err() error {
	if p.err == nil {
		return errors.New("exit status 0")
	}
	return p.err
}

// Signal sends a signal, unless the program has ended.
func (p *Process) Signal(signal syscall.Signal) { _ = p.cmd.Process.Signal(signal) }

// Kill ends the program at once with SIGKILL and waits for its end.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.done
}

// Stop sends the StopSignal, waits for the end up to the StopGrace or the end of the context, and then sends the
// KillSignal. It returns when the program has ended and reports whether it did so in time.
func (p *Process) Stop(ctx context.Context) bool {
	if p.spec.StopGrace > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, p.spec.StopGrace)
		defer cancel()
	}
	p.Signal(orDefault(p.spec.StopSignal, syscall.SIGTERM))
	select {
	case <-p.done:
		return true
	case <-ctx.Done():
	}
	p.Signal(orDefault(p.spec.KillSignal, syscall.SIGKILL))
	<-p.done
	return false
}

func orDefault(signal, otherwise syscall.Signal) syscall.Signal {
	if signal == 0 {
		return otherwise
	}
	return signal
}
