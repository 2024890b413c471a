package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/flyte-binary/flyte-binary/inpod/forkable"
)

const (
	// readyLimit is how long the import of the SDK may take.
	readyLimit = 2 * time.Minute
	// loadLimit is how long the download or the import of a task's code may take before a fork.
	loadLimit = 5 * time.Minute
	// startLimit is how long a fork may take.
	startLimit = 30 * time.Second
)

// server is a process that forks others (runner.py).
type server struct {
	control *control
	read    []string          // the variables that its imports have read
	env     map[string]string // the environment in which they were
	args    []string          // the arguments that the code was loaded with
	// What its import has read of them: some, by their index, and how many there are.
	arguments []int
	count     bool
	exited    <-chan struct{}
	end       exit // how it ended; set when exited is closed, of one that was forked
	kill      func()
}

// forked is a process that a server has made.
type forked struct {
	of      *server
	number  int64
	pid     int
	reports <-chan report
}

// refusal means that a server cannot do something, and that a slower way may.
type refusal struct{ why string }

func (r *refusal) Error() string { return r.why }

// startBase starts the server that has the SDK, for the entry point at script.
func startBase(
	ctx context.Context, program, script string, env map[string]string, output *os.File, started func(pid int),
) (*server, error) {
	interpreter, err := forkable.Interpreter(script)
	if err != nil {
		return nil, err
	}
	ours, theirs, err := forkable.SocketPair()
	if err != nil {
		return nil, fmt.Errorf("make the socket of a server: %w", err)
	}
	config, err := json.Marshal(map[string]any{"script": script, "interpreter": interpreter, "modules": forkable.Modules()})
	if err != nil {
		return nil, errors.Join(err, ours.Close(), theirs.Close())
	}
	arguments := append(slices.Clone(interpreter[1:]), program, string(config))
	cmd := exec.Command(interpreter[0], arguments...) //nolint:noctx // it ends with its socket
	cmd.Env, cmd.Dir = list(env), "/"
	cmd.Stdout, cmd.Stderr = output, output
	cmd.ExtraFiles = []*os.File{theirs}
	// A session of its own: a signal to the worker's group would end it, and with it the attempts that it has forked.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = theirs.Close()
	if err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	started(cmd.Process.Pid)
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		_ = cmd.Wait()
	}()
	s := &server{control: newControl(ours), env: env, exited: exited, kill: sync.OnceFunc(func() {
		_ = ours.Close()
		_ = cmd.Process.Kill()
		<-exited
	})}
	if err := s.awaitReady(ctx, readyLimit); err != nil {
		s.kill()
		return nil, err
	}
	return s, nil
}

// awaitReady waits for the first report of a server.
func (s *server) awaitReady(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case r := <-s.control.ready:
		if r.Read == nil {
			return &refusal{r.Unfit}
		}
		s.read, s.arguments, s.count = *r.Read, r.Arguments, r.Count
		return nil
	case <-s.control.gone:
		return errServerGone
	case <-ctx.Done():
		return ctx.Err()
	}
}

// What runner.py reports in place of a variable's name: that their names were listed, or that all were and it is not known which count.
const (
	allNames     = "="
	allVariables = "*"
)

// differs names a variable that the imports of the server have read and that has another value in env; "" means none. all is for
// code that is not known: if it lists all variables, each counts.
func (s *server) differs(env map[string]string, all bool) string {
	names := s.read
	if all && (slices.Contains(names, allVariables) || slices.Contains(names, allNames)) {
		for _, name := range slices.Concat(slices.Collect(maps.Keys(s.env)), slices.Collect(maps.Keys(env))) {
			_, had := s.env[name]
			if _, has := env[name]; had != has || slices.Contains(names, allVariables) {
				names = append(names[:len(names):len(names)], name)
			}
		}
	}
	for _, name := range names {
		before, had := s.env[name]
		now, has := env[name]
		if before != now || had != has {
			return name
		}
	}
	return ""
}

// reads says what of a command the import of the server's code has read that is different in another; "" means nothing.
func (s *server) reads(c command) string {
	if name := s.differs(c.env, true); name != "" {
		return "the import of its code reads " + name + ", which has another value in this attempt"
	}
	if s.count && len(s.args) != len(c.args) {
		return "the import of its code reads sys.argv, which has another length in this attempt"
	}
	for _, index := range s.arguments {
		if index >= len(s.args) || index >= len(c.args) || s.args[index] != c.args[index] {
			return fmt.Sprintf("the import of its code reads sys.argv[%d], which is different in this attempt", index)
		}
	}
	return ""
}

// fork has a process made and waits until it has become what the request says. The end of the context ends the process.
func (s *server) fork(ctx context.Context, limit time.Duration, r request, files ...*os.File) (*forked, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	number, reports, err := s.control.send(r, files...)
	if err != nil {
		return nil, err
	}
	f := &forked{of: s, number: number, reports: reports}
	for {
		select {
		case r := <-reports:
			switch {
			case r.Forked != 0:
				f.pid = r.PID
			case r.Started != 0:
				return f, nil
			case r.Refused != 0:
				s.control.forget(number)
				return nil, &refusal{r.Why}
			case r.Ended != 0: // killed while it became it
				f.reap()
				return nil, &refusal{"the process was ended while it was prepared"}
			}
		case <-s.control.gone:
			return nil, errServerGone
		case <-ctx.Done():
			if f.pid == 0 {
				return nil, errors.Join(errServerGone, ctx.Err()) // it no longer forks
			}
			f.signal(syscall.SIGKILL)
			_, _ = f.wait()
			f.reap()
			return nil, &refusal{"the process was not ready in time: " + ctx.Err().Error()}
		}
	}
}

// signal signals the process and all of its group.
func (f *forked) signal(s syscall.Signal) {
	_ = syscall.Kill(-f.pid, s)
	if s == syscall.SIGKILL {
		_ = syscall.Kill(f.pid, s) // it may have no group of its own yet
	}
}

// wait waits for the end. The process is a zombie then, so that its number names no other, until reap.
func (f *forked) wait() (report, error) {
	for {
		select {
		case r := <-f.reports:
			if r.Ended != 0 {
				return r, nil
			}
			if r.Refused != 0 {
				return r, &refusal{r.Why}
			}
		case <-f.of.control.gone:
			select {
			case r := <-f.reports:
				if r.Ended != 0 {
					return r, nil
				}
			default:
			}
			return report{}, errServerGone
		}
	}
}

// end is how the process ended.
func (f *forked) end() exit {
	r, err := f.wait()
	switch {
	case err != nil:
		return exit{lost: err.Error()}
	case r.Exited:
		return exit{code: r.Code}
	}
	return exit{signal: syscall.Signal(r.Code)}
}

// reap has the server wait for the process that has ended. Its number may name another process from then on, so nothing may signal it.
func (f *forked) reap() {
	defer f.of.control.forget(f.number)
	if f.of.control.tell("reap", f.number) != nil {
		return
	}
	for {
		select {
		case r := <-f.reports:
			if r.Reaped != 0 {
				return
			}
		case <-f.of.control.gone:
			return
		}
	}
}

// serve forks a server that answers a socket of its own, with the code or the attempts of the request.
func (s *server) serve(ctx context.Context, r request) (*server, error) {
	ours, theirs, err := forkable.SocketPair()
	if err != nil {
		return nil, fmt.Errorf("make the socket of a server: %w", err)
	}
	defer func() { _ = theirs.Close() }()
	f, err := s.fork(ctx, loadLimit, r, theirs)
	if err != nil {
		return nil, errors.Join(err, ours.Close())
	}
	exited := make(chan struct{})
	made := &server{control: newControl(ours), env: r.Env, args: r.Args, exited: exited, kill: sync.OnceFunc(func() {
		f.signal(syscall.SIGKILL)
		<-exited
		_ = ours.Close()
	})}
	go func() {
		defer close(exited)
		made.end = f.end()
		_ = syscall.Kill(-f.pid, syscall.SIGKILL)
		f.reap()
	}()
	return made, nil
}

// list is an environment as a list.
func list(env map[string]string) []string {
	all := make([]string, 0, len(env))
	for name, value := range env {
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return all
}

// table is an environment as a map. The last value of a name counts.
func table(env []string) map[string]string {
	all := make(map[string]string, len(env))
	for _, variable := range env {
		if name, value, found := strings.Cut(variable, "="); found {
			all[name] = value
		}
	}
	return all
}
