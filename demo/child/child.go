// Package child keeps one child process alive: it starts it, waits until it works, starts it again when it dies and
// stops it in order. The demo runs what may crash on its own (the Kubernetes API server) as such a child, so that the
// server itself outlives it. It stands below demo/kube and knows nothing of what the child does.
package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/internal/lifecycle"
)

// Config says what to run and how to tell that it works.
type Config struct {
	// Name of the child in logs and errors.
	Name string
	// Path of the program.
	Path string
	// Args without the program's name.
	Args []string
	// Env is the whole environment of the child.
	Env []string
	// Dir is the child's working directory.
	Dir string
	// Files are inherited from descriptor 3 on. They stay the caller's to close, after Stop.
	Files []*os.File
	// LogFile takes the child's standard output and error.
	LogFile string
	// Ready is asked again and again after each start until it answers nil.
	Ready func(ctx context.Context) error
	// ReadyTimeout bounds one start of the child. Default 60 s.
	ReadyTimeout time.Duration
	// StopGrace is the time between the polite and the hard signal. Default 10 s.
	StopGrace time.Duration
	// Clock times the pauses between restarts. Default: the machine's.
	Clock clock.Clock
	// Log takes starts, ends and restarts.
	Log zerolog.Logger
}

// Process is a supervised child.
type Process struct {
	cfg Config

	mu      sync.Mutex
	current *running // GUARDED_BY mu
	cancel  context.CancelFunc
	done    chan struct{}
}

// running is one life of the child.
type running struct {
	cmd *exec.Cmd
	// ended is closed when the process was waited for; then err tells how it ended.
	ended chan struct{}
	err   error
	// stdin stays open for the life of the parent: the child reads its end from it.
	stdin *os.File
}

var _ lifecycle.Part = (*Process)(nil)

// New makes a child that is not started yet.
func New(cfg Config) *Process {
	if cfg.ReadyTimeout == 0 {
		cfg.ReadyTimeout = time.Minute
	}
	if cfg.StopGrace == 0 {
		cfg.StopGrace = 10 * time.Second
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.System{}
	}
	return &Process{cfg: cfg}
}

// Start implements lifecycle.Part. A child that dies before it ever worked is an error, not a reason to try again.
func (p *Process) Start(ctx context.Context) error {
	life, err := p.launch()
	if err != nil {
		return err
	}
	if err := p.waitReady(ctx, life); err != nil {
		p.end(context.WithoutCancel(ctx), life)
		return err
	}
	keep, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.cancel = cancel
	p.done = make(chan struct{})
	go p.supervise(keep, life)
	return nil
}

// Stop implements lifecycle.Part.
func (p *Process) Stop(ctx context.Context) error {
	if p.cancel == nil {
		return nil
	}
	p.cancel()
	p.mu.Lock()
	life := p.current
	p.mu.Unlock()
	if life != nil {
		p.end(ctx, life)
	}
	// What remains is bounded: the child has ended, and nobody starts another.
	<-p.done
	return nil
}

// Pid is the id of the child that runs now, 0 between two lives.
func (p *Process) Pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil {
		return 0
	}
	return p.current.cmd.Process.Pid
}

// launch starts the program and returns when it runs.
func (p *Process) launch() (*running, error) {
	out, err := os.OpenFile(p.cfg.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", p.cfg.Name, err)
	}
	defer out.Close()
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.cfg.Name, err)
	}
	defer read.Close()
	cmd := exec.Command(p.cfg.Path, p.cfg.Args...) //nolint:noctx // it outlives the start; Stop ends it
	cmd.Env, cmd.Dir = p.cfg.Env, p.cfg.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = read, out, out
	cmd.ExtraFiles = p.cfg.Files
	cmd.SysProcAttr = attributes()
	life := &running{cmd: cmd, ended: make(chan struct{}), stdin: write}
	started := make(chan error, 1)
	go func() {
		// The kernel ties the death signal to the thread that forked, so that thread has to live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		life.err = cmd.Wait()
		close(life.ended)
	}()
	if err := <-started; err != nil {
		write.Close()
		return nil, fmt.Errorf("start %s: %w", p.cfg.Name, err)
	}
	p.mu.Lock()
	p.current = life
	p.mu.Unlock()
	return life, nil
}

// waitReady polls until the child works, dies or takes too long.
func (p *Process) waitReady(ctx context.Context, life *running) error {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.ReadyTimeout)
	defer cancel()
	// A question to a child that died must not outlast it.
	asking, stopAsking := context.WithCancel(ctx)
	defer stopAsking()
	go func() {
		select {
		case <-life.ended:
			stopAsking()
		case <-asking.Done():
		}
	}()
	poll := p.cfg.Clock.NewTimer(0)
	defer poll.Stop()
	var last error
	for {
		select {
		case <-life.ended:
			return fmt.Errorf("%s ended before it was ready (%w); its last words, from %s:\n%s",
				p.cfg.Name, exitError(life.err), p.cfg.LogFile, tail(p.cfg.LogFile))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w; its log is %s", p.cfg.Name, errors.Join(ctx.Err(), last), p.cfg.LogFile)
		case <-poll.C():
		}
		if last = p.cfg.Ready(asking); last == nil {
			return nil
		}
		poll.Reset(readyPoll)
	}
}

// end asks the child to end, and kills it when the grace is over.
func (p *Process) end(ctx context.Context, life *running) {
	defer life.stdin.Close()
	_ = life.cmd.Process.Signal(terminate)
	timer := p.cfg.Clock.NewTimer(p.cfg.StopGrace)
	defer timer.Stop()
	select {
	case <-life.ended:
		return
	case <-timer.C():
	case <-ctx.Done():
	}
	p.cfg.Log.Warn().Str("child", p.cfg.Name).Msg("child does not end by itself; killing it")
	_ = life.cmd.Process.Kill()
	<-life.ended
}

func exitError(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}
