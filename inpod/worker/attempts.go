package worker

import (
	"context"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// forkedAttempt is an attempt that was forked from a server.
type forkedAttempt struct {
	runner  *runner
	forked  *forked
	because string // why it was forked from a process without its code; empty if it was not
}

func (a *forkedAttempt) warm() bool   { return true }
func (a *forkedAttempt) slow() string { return a.because }

func (a *forkedAttempt) wait() exit {
	return a.forked.end()
}

func (a *forkedAttempt) interrupt() { a.forked.signal(syscall.SIGTERM) }

func (a *forkedAttempt) kill() { a.forked.signal(syscall.SIGKILL) }

// release kills what the attempt has left in its process group. The number of the group is valid until the zombie is
// reaped.
func (a *forkedAttempt) release() {
	_ = syscall.Kill(-a.forked.pid, syscall.SIGKILL)
	a.forked.reap()
	a.runner.released()
}

// coldAttempt is an attempt that was started on its own.
type coldAttempt struct {
	runner  *runner
	cmd     *exec.Cmd
	because string // why it was not forked
}

func (a *coldAttempt) warm() bool   { return false }
func (a *coldAttempt) slow() string { return a.because }

func (a *coldAttempt) wait() exit {
	err := a.cmd.Wait()
	if a.cmd.ProcessState == nil {
		return exit{lost: err.Error()}
	}
	if status, ok := a.cmd.ProcessState.Sys().(syscall.WaitStatus); ok {
		if status.Signaled() {
			return exit{signal: status.Signal()}
		}
	}
	return exit{code: a.cmd.ProcessState.ExitCode()}
}

func (a *coldAttempt) interrupt() { a.signal(syscall.SIGTERM) }

func (a *coldAttempt) kill() { a.signal(syscall.SIGKILL) }

// signal signals the group of the process, which has its children.
func (a *coldAttempt) signal(s syscall.Signal) { _ = syscall.Kill(-a.cmd.Process.Pid, s) }

func (a *coldAttempt) release() {
	_ = syscall.Kill(-a.cmd.Process.Pid, syscall.SIGKILL) // its group keeps the number while it has processes
	a.runner.owns(a.cmd.Process.Pid, false)
	a.runner.released()
}

// sharing is a process that runs several attempts.
type sharing struct {
	*server
	dir string

	mu       sync.Mutex
	attempts int // GUARDED_BY(mu)
	crowd    int // GUARDED_BY(mu): how many there were when it ended
}

// share starts an attempt in the process of its code, which is started if there is none.
func (r *runner) share(ctx context.Context, base *server, c command, output *os.File) (process, error) {
	bundle := bundleOf(c.args)
	one := r.shared[bundle.key()]
	if one != nil {
		select {
		case <-one.control.gone:
			one.kill()
			one = nil
		default:
		}
	}
	if one == nil {
		for key, other := range r.shared { // a process that has other code ends when it has nothing to do
			if other.idle() {
				other.kill()
				_ = os.RemoveAll(other.dir)
				delete(r.shared, key)
			}
		}
		var err error
		if one, err = r.startSharing(ctx, base, c, bundle); err != nil {
			return nil, err
		}
		r.shared[bundle.key()] = one
	}
	number, reports, err := one.control.send(request{Do: "run", Args: c.args, Env: c.env}, output)
	if err != nil {
		return nil, err
	}
	one.add(1)
	return &sharedAttempt{runner: r, of: one, number: number, reports: reports}, nil
}

// startSharing starts a process for the attempts of one bundle. It has the environment of the worker; each attempt
// brings its own variables. Code gets a directory of its own, so that two bundles never mix.
func (r *runner) startSharing(ctx context.Context, base *server, c command, bundle bundle) (*sharing, error) {
	env, dir := map[string]string{}, r.place.dir
	for name, value := range r.env {
		env[name] = value
	}
	if bundle.tgz != "" || bundle.pkl != "" {
		var err error
		if dir, err = os.MkdirTemp(r.scratch, "code-"); err != nil {
			return nil, err
		}
	}
	s, err := base.serve(ctx, request{Do: "share", Dir: dir, Args: c.args[:1], Env: env})
	if err != nil {
		return nil, err
	}
	return &sharing{server: s, dir: dir}, nil
}

func (s *sharing) add(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts += n
}

func (s *sharing) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attempts == 0
}

// ended is how many attempts the process had when it ended.
func (s *sharing) ended() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.crowd == 0 {
		s.crowd = s.attempts
	}
	return s.crowd
}

// sharedAttempt is an attempt that runs in a process with others.
type sharedAttempt struct {
	runner  *runner
	of      *sharing
	number  int64
	reports <-chan report
}

func (a *sharedAttempt) warm() bool   { return true }
func (a *sharedAttempt) slow() string { return "" }

func (a *sharedAttempt) wait() exit {
	for {
		select {
		case r := <-a.reports:
			if r.Ended != 0 {
				return exit{code: r.Code}
			}
		case <-a.of.control.gone:
			select {
			case r := <-a.reports:
				if r.Ended != 0 {
					return exit{code: r.Code}
				}
			default:
			}
			return a.died()
		}
	}
}

// died is the end of an attempt whose process has ended. Only if it was alone can it be said who ended it.
func (a *sharedAttempt) died() exit {
	select {
	case <-a.of.exited:
	case <-time.After(time.Second): // it has closed the socket, and lives
		a.of.kill()
	}
	if a.of.ended() > 1 {
		return exit{lost: "the process that runs the attempts of this worker ended; which of them ended it is not known", crowd: true}
	}
	return a.of.end
}

func (a *sharedAttempt) interrupt() {
	if a.of.control.tell("cancel", a.number) != nil {
		a.kill()
	}
}

// kill kills the process, and with it the other attempts in it: a coroutine that does not react to its cancellation
// cannot be ended otherwise. Those are reported as lost, and retried.
func (a *sharedAttempt) kill() { a.of.kill() }

func (a *sharedAttempt) release() {
	a.of.control.forget(a.number)
	a.of.add(-1)
	a.runner.released()
}
