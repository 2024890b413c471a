package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// process is a child that ends with us.
type process struct {
	name string
	pid  int
	log  string
	done chan struct{} // closed when it has ended
	err  error         // how; read after done
}

// spawn starts a program whose output goes to a file. The goroutine that starts it stays for as long as it runs: the
// kernel ties the signal on our death to the thread that forked.
func spawn(dir, name, program string, env []string, args ...string) (*process, error) {
	p := &process{name: name, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	out, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, args...) //nolint:gosec,noctx // our own programs, stopped by stop
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = dir, out, out, append(os.Environ(), env...)
	endWithUs(cmd)
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer out.Close()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		p.pid = cmd.Process.Pid
		started <- nil
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// stopPatience is how long a process may take to end after it was asked.
const stopPatience = 20 * time.Second

// stop asks the process to end, and makes it.
func (p *process) stop() {
	if p == nil {
		return
	}
	_ = syscall.Kill(p.pid, syscall.SIGTERM) // it may have ended
	select {
	case <-p.done:
	case <-time.After(stopPatience):
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
		<-p.done
	}
}

// await tries something until it works, the process ends or the context does.
func (p *process) await(ctx context.Context, ready func(context.Context) error) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended early; its log is %s: %w", p.name, p.log, errors.Join(err, p.err))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready (%w); its log is %s", p.name, err, p.log)
		case <-tick.C:
		}
	}
}
