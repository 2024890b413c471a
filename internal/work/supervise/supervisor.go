package supervise

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/lifecycle"
)

const (
	// firstPause and maxPause bound the pause before a restart.
	firstPause = 50 * time.Millisecond
	maxPause   = 5 * time.Second
	// healthyAfter is the run time after which the backoff starts from the beginning again.
	healthyAfter = 30 * time.Second
)

// Config configures a Supervisor.
type Config struct {
	// Name of the program in logs and errors.
	Name string
	// Launch starts the program and returns when it works. If it fails, it leaves nothing running. Its context ends
	// with Stop.
	Launch func(ctx context.Context) (*Process, error)
	// OnExit, where set, is called with the reason when the program ended without Stop.
	OnExit func(err error)
	// Once disables restarts.
	Once bool
	// Clock times the pauses between restarts.
	Clock clock.Clock
	// Log receives exits and restarts.
	Log zerolog.Logger
}

// Supervisor keeps one program running between Start and Stop.
type Supervisor struct {
	config Config

	mu      sync.Mutex
	current *Process           // GUARDED_BY(mu): nil while none runs
	cancel  context.CancelFunc // GUARDED_BY(mu): nil before Start
	stopped bool               // GUARDED_BY(mu)
	done    chan struct{}      // GUARDED_BY(mu): closed when everything has ended
}

var _ lifecycle.Part = (*Supervisor)(nil)

// New returns a supervisor of a program that is not running yet.
func New(config Config) *Supervisor { return &Supervisor{config: config, done: make(chan struct{})} }

// Start implements lifecycle.Part. A program that ends before it works is an error and is not retried.
func (s *Supervisor) Start(ctx context.Context) error {
	lifetime, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.mu.Lock()
	if s.cancel != nil || s.stopped {
		defer s.mu.Unlock()
		cancel()
		if s.stopped {
			return lifecycle.ErrStopped
		}
		return nil
	}
	s.cancel = cancel
	s.mu.Unlock()
	starting, endStarting := context.WithCancel(ctx)
	defer endStarting()
	defer context.AfterFunc(lifetime, endStarting)()
	process, err := s.config.Launch(starting)
	if err != nil || !s.adopt(ctx, process) {
		err = errors.Join(err, lifetime.Err())
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		close(s.done)
		s.cancel, s.done = nil, make(chan struct{})
		return err
	}
	go s.run(lifetime, process, s.done)
	return nil
}

// Stop implements lifecycle.Part. The program is stopped as its Spec says.
func (s *Supervisor) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.stopped = true
	cancel, process, done := s.cancel, s.current, s.done
	s.mu.Unlock()
	if cancel == nil {
		return nil
	}
	cancel()
	if process != nil && !process.Stop(ctx) {
		s.config.Log.Warn().Str("child", s.config.Name).Msg("child did not stop in time and was killed")
	}
	<-done // bounded: the program has ended and no other is started
	return nil
}

// Pid is the process id of the program, 0 while none runs.
func (s *Supervisor) Pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return 0
	}
	return s.current.Pid()
}

// adopt makes a process the current one. When Stop came first, which could not know of it, it is stopped instead.
func (s *Supervisor) adopt(ctx context.Context, process *Process) bool {
	s.mu.Lock()
	stopped := s.stopped
	if !stopped {
		s.current = process
	}
	s.mu.Unlock()
	if stopped {
		process.Stop(context.WithoutCancel(ctx))
	}
	return !stopped
}

// run restarts the program whenever it ends, until the context ends.
func (s *Supervisor) run(ctx context.Context, process *Process, done chan<- struct{}) {
	defer close(done)
	retries := backoff.New(firstPause, maxPause)
	for process != nil {
		began := s.config.Clock.Now()
		<-process.Done()
		s.mu.Lock()
		s.current = nil
		s.mu.Unlock()
		if ctx.Err() != nil {
			return
		}
		if s.config.Clock.Now().Sub(began) > healthyAfter {
			retries.Reset()
		}
		err := fmt.Errorf("%s died: %w%s", s.config.Name, process.Err(), process.lastOutput())
		s.config.Log.Error().Err(err).Str("child", s.config.Name).Bool("restart", !s.config.Once).Msg("child exited unexpectedly")
		if s.config.OnExit != nil {
			s.config.OnExit(err)
		}
		if s.config.Once {
			return
		}
		process = s.relaunch(ctx, retries)
	}
}

// relaunch starts the program until that works; nil when the context ended first.
func (s *Supervisor) relaunch(ctx context.Context, retries *backoff.Backoff) *Process {
	for retries.Wait(ctx, s.config.Clock) == nil {
		began := s.config.Clock.Now()
		process, err := s.config.Launch(ctx)
		if err == nil {
			if !s.adopt(ctx, process) {
				return nil
			}
			s.config.Log.Info().Str("child", s.config.Name).Int("pid", process.Pid()).
				Stringer("took", s.config.Clock.Now().Sub(began)).Msg("child restarted")
			return process
		}
		if ctx.Err() == nil {
			s.config.Log.Error().Err(err).Str("child", s.config.Name).Msg("cannot restart child; retrying")
		}
	}
	return nil
}
