package pgembed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// child is one run of the server program.
type child struct {
	pid  int
	tail *logTail
	done chan struct{} // closed when it has ended
	err  error         // how it ended; read after done
}

// ending says how it ended, in words even when it went in peace.
func (c *child) ending() error {
	if c.err == nil {
		return errors.New("exit status 0")
	}
	return c.err
}

// launch starts the program. The goroutine that starts it stays for as long as it runs: the kernel ties the signal
// on our death to the thread that forked.
func (s *Server) launch() (*child, error) {
	c := &child{tail: &logTail{log: s.config.Log}, done: make(chan struct{})}
	started := make(chan error)
	cmd := exec.Command(filepath.Join(s.binDir, "postgres"), s.arguments()...) //nolint:noctx // it outlives the start
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = s.config.DataDir, c.tail, c.tail, environment()
	detach(cmd, s.account)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		c.pid = cmd.Process.Pid
		started <- nil
		c.err = cmd.Wait()
		close(c.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	return c, nil
}

func (s *Server) arguments() []string {
	settings := map[string]string{
		"listen_addresses":        "",
		"unix_socket_directories": s.socket,
		"max_connections":         strconv.Itoa(s.config.MaxConnections),
		"timezone":                "UTC",
		"log_timezone":            "UTC",
		"logging_collector":       "off",
	}
	if s.config.Port != 0 {
		settings["listen_addresses"] = "127.0.0.1"
	}
	if s.config.Ephemeral {
		for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
			settings[name] = "off"
		}
	}
	maps.Copy(settings, s.config.Settings)
	args := []string{"-D", filepath.Join(s.config.DataDir, "data"), "-p", strconv.Itoa(s.port())}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	return args
}

// launchUntilReady starts the program and waits until it accepts connections. A predecessor that was killed with us
// may need a moment to let go of the data, so such a refusal is tried again until the context ends.
func (s *Server) launchUntilReady(ctx context.Context) (*child, error) {
	for {
		if err := s.clearStaleLock(); err != nil {
			return nil, err
		}
		c, err := s.launch()
		if err != nil {
			return nil, err
		}
		err = s.awaitReady(ctx, c)
		if err == nil {
			return c, nil
		}
		c.stop(context.WithoutCancel(ctx))
		if ctx.Err() != nil || !heldByPredecessor(c.tail.String()) {
			return nil, err
		}
		if !s.pause(ctx, 50*time.Millisecond) {
			return nil, err
		}
	}
}

func heldByPredecessor(log string) bool {
	return strings.Contains(log, "postmaster.pid") || strings.Contains(log, "shared memory block")
}

func (s *Server) awaitReady(ctx context.Context, c *child) error {
	for {
		conn, err := pgx.Connect(ctx, s.dsn("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-c.done:
			return fmt.Errorf("postgres ended while it started: %w: %s", c.ending(), c.tail)
		default:
		}
		if !s.pause(ctx, readyInterval) {
			return fmt.Errorf("postgres does not accept connections: %w: %s", errors.Join(context.Cause(ctx), err), c.tail)
		}
	}
}

// pause waits for d and tells whether that was not cut short.
func (s *Server) pause(ctx context.Context, d time.Duration) bool {
	timer := s.config.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
	case <-s.quit:
	}
	return false
}

// stop ends the program, first politely, and waits for it.
func (c *child) stop(ctx context.Context) {
	signal := func(sig syscall.Signal) {
		if process, err := os.FindProcess(c.pid); err == nil {
			_ = process.Signal(sig) // it may have ended by itself
		}
	}
	select {
	case <-c.done:
		return
	default:
	}
	signal(syscall.SIGINT) // fast shutdown: cut connections, write everything
	select {
	case <-c.done:
		return
	case <-ctx.Done():
	}
	signal(syscall.SIGQUIT) // immediate: the children go too, the next start recovers
	<-c.done
}

// runPinned runs a child from one thread from its fork to its end.
func runPinned(run func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return run()
}
