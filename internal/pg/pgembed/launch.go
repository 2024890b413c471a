package pgembed

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/internal/work/supervise"
)

// launch starts the server program; output has what it wrote.
func (s *Server) launch(output *logTail) (*supervise.Process, error) {
	return supervise.Start(supervise.Spec{
		Name: "postgres", Path: filepath.Join(s.binDir, "postgres"), Args: s.arguments(), Env: environment(),
		Dir: s.config.DataDir, Output: output, Credential: s.account.credential(),
		OrphanSignal: syscall.SIGQUIT, // immediate shutdown, since the parent is gone
		StopSignal:   syscall.SIGINT,  // fast shutdown: cut connections, write everything
		KillSignal:   syscall.SIGQUIT, // immediate: it ends the backends too, and the next start recovers
	})
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

// predecessorLimit is how long a server that was killed with an earlier process may keep the data.
const predecessorLimit = time.Minute

// launchUntilReady starts the program and waits until it accepts connections. A predecessor that was killed with us
// may need a moment to release the data, so such a refusal is retried for a while.
func (s *Server) launchUntilReady(ctx context.Context) (*supervise.Process, error) {
	began := s.config.Clock.Now()
	for {
		if err := s.clearStaleLock(); err != nil {
			return nil, err
		}
		output := &logTail{log: s.config.Log}
		process, err := s.launch(output)
		if err != nil {
			return nil, err
		}
		err = process.AwaitReady(ctx, s.config.Clock, s.config.patience(), readyInterval, s.accepts)
		if err == nil {
			return process, nil
		}
		process.Stop(context.WithoutCancel(ctx))
		if ctx.Err() != nil || !heldByPredecessor(output.String()) || s.config.Clock.Now().Sub(began) > predecessorLimit {
			return nil, err
		}
		if clock.Sleep(ctx, s.config.Clock, 50*time.Millisecond) != nil {
			return nil, err
		}
	}
}

// acceptTimeout bounds one question whether the server accepts connections.
const acceptTimeout = 10 * time.Second

func heldByPredecessor(log string) bool {
	return strings.Contains(log, "postmaster.pid") || strings.Contains(log, "shared memory block")
}

// accepts connects once. A server that does not answer is asked again.
func (s *Server) accepts(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, acceptTimeout)
	defer cancel()
	conn, err := pgx.Connect(ctx, s.dsn("postgres"))
	if err != nil {
		return err
	}
	return conn.Close(ctx)
}
