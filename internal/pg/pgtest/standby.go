package pgtest

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgembed"
)

// Pair is a primary and a standby that follows it, both for one test alone.
type Pair struct {
	t       testing.TB
	Primary *pgembed.Server
	Standby *pgembed.Server
}

// NewPair starts both. With synchronous, the primary acknowledges a commit when the standby has it.
func NewPair(t testing.TB, synchronous bool) *Pair {
	t.Helper()
	dir, err := os.MkdirTemp(parent(), "flyte-pair-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o711))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	common := map[string]string{"shared_buffers": "32MB", "dynamic_shared_memory_type": "mmap", "wal_level": "replica", "hot_standby": "on"}
	p := &Pair{t: t}
	first := map[string]string{"max_wal_senders": "4", "synchronous_commit": "on", "wal_keep_size": "64MB"}
	p.Primary = p.start(dir, "a", "", common, first)
	p.Standby = p.start(dir, "b", p.Primary.DSNOf(pgembed.Database), common, map[string]string{"max_wal_senders": "4", "synchronous_commit": "on"})
	if synchronous {
		Exec(t, p.Primary.DSN(), `ALTER SYSTEM SET synchronous_standby_names = 'standby'`)
		Exec(t, p.Primary.DSN(), `SELECT pg_reload_conf()`)
		p.await(p.Primary, `SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'`)
	}
	return p
}

func (p *Pair) start(dir, name, primary string, settings ...map[string]string) *pgembed.Server {
	p.t.Helper()
	all := map[string]string{}
	for _, some := range settings {
		for key, value := range some {
			all[key] = value
		}
	}
	server, err := pgembed.New(pgembed.Config{
		DataDir: filepath.Join(dir, name), Ephemeral: true, MaxConnections: 100, Log: zerolog.Nop(), Settings: all, Primary: primary,
	})
	require.NoError(p.t, err)
	p.t.Cleanup(func() {
		Thaw(server)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(p.t.Context()), 10*time.Second)
		defer cancel()
		_ = server.Stop(ctx) // its data is discarded
	})
	require.NoError(p.t, server.Start(p.t.Context()))
	return server
}

// URL lists both servers, the first primary first.
func (p *Pair) URL() string {
	one, err := url.Parse(p.Primary.DSN())
	require.NoError(p.t, err)
	query := one.Query()
	query.Set("host", p.Primary.SocketDir()+","+p.Standby.SocketDir())
	query.Set("port", query.Get("port")+","+query.Get("port"))
	one.RawQuery = query.Encode()
	return one.String()
}

// Promote makes the standby a primary.
func (p *Pair) Promote() {
	p.t.Helper()
	Exec(p.t, p.Standby.DSN(), `SELECT pg_promote()`)
	p.await(p.Standby, `SELECT NOT pg_is_in_recovery()`)
}

// Freeze stops all processes of a server where they are; Thaw continues them.
func Freeze(server *pgembed.Server) { signalAll(server.Pid(), syscall.SIGSTOP) }

// Thaw continues what Freeze stopped.
func Thaw(server *pgembed.Server) { signalAll(server.Pid(), syscall.SIGCONT) }

// Kill ends the primary at once.
func (p *Pair) Kill() {
	if pid := p.Primary.Pid(); pid != 0 {
		_ = syscall.Kill(pid, syscall.SIGQUIT)
	}
}

func (p *Pair) await(server *pgembed.Server, question string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		conn, err := pgx.Connect(p.t.Context(), server.DSN())
		if err != nil {
			return false
		}
		defer conn.Close(p.t.Context()) //nolint:errcheck // it only asked
		var answer bool
		return conn.QueryRow(p.t.Context(), question).Scan(&answer) == nil && answer
	}, time.Minute, 20*time.Millisecond, question)
}

// Exec runs one statement on a connection of its own.
func Exec(t testing.TB, dsn, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	_, err = conn.Exec(t.Context(), statement)
	require.NoError(t, err, statement)
}

// signalAll signals a process and its children, which is all that a Postgres has.
func signalAll(pid int, signal syscall.Signal) {
	if pid == 0 {
		return
	}
	_ = syscall.Kill(pid, signal)
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return
	}
	for _, path := range stats {
		body, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(body), ") ")
		if fields := strings.Fields(rest); len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			if child, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				_ = syscall.Kill(child, signal)
			}
		}
	}
}
