package pgembed_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgembed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newServer(t *testing.T, config pgembed.Config) *pgembed.Server {
	t.Helper()
	if _, err := pgembed.Find(); err != nil {
		t.Skip(err)
	}
	config.Log = zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.InfoLevel)
	server, err := pgembed.New(config)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
	return server
}

// dataDir is in a temporary directory that the server's account can enter.
func dataDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o711))
	return filepath.Join(dir, "pg")
}

func query(t *testing.T, dsn, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	var answer string
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&answer))
	return answer
}

func TestDurableServerKeepsDataAndAsksForItsPassword(t *testing.T) {
	dir := dataDir(t)
	first := newServer(t, pgembed.Config{DataDir: dir})
	require.NoError(t, first.Start(t.Context()))
	require.Equal(t, "on", query(t, first.DSN(), "SHOW fsync"))
	require.Equal(t, "4711", query(t, first.DSN(), "SELECT lo_create(4711)::text"))

	without, err := pgx.ParseConfig(first.DSN())
	require.NoError(t, err)
	without.Password = "wrong"
	_, err = pgx.ConnectConfig(t.Context(), without)
	require.ErrorContains(t, err, "password")

	info, err := os.Stat(first.SocketDir())
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())

	require.NoError(t, first.Stop(t.Context()))
	require.NoError(t, first.Stop(t.Context()), "stop is idempotent")
	require.NoDirExists(t, first.SocketDir())

	second := newServer(t, pgembed.Config{DataDir: dir})
	require.NoError(t, second.Start(t.Context()))
	require.Equal(t, "1", query(t, second.DSN(), "SELECT count(*)::text FROM pg_largeobject_metadata WHERE oid = 4711"))
}

func TestCrashIsReportedAndRepaired(t *testing.T) {
	exits := make(chan error, 1)
	server := newServer(t, pgembed.Config{
		DataDir: dataDir(t), Ephemeral: true, Restart: true,
		OnExit: func(err error) { exits <- err },
	})
	require.NoError(t, server.Start(t.Context()))
	before := server.Pid()
	require.NoError(t, syscall.Kill(before, syscall.SIGKILL))
	require.ErrorContains(t, <-exits, "postgres died")
	require.Eventually(t, func() bool { return server.Pid() != 0 && server.Pid() != before }, time.Minute, 10*time.Millisecond)
	require.Equal(t, "1", query(t, server.DSN(), "SELECT '1'"))
}

// TestLockOfAnotherProcessIsNoObstacle is the case of a container that was killed and started again: the pid in the
// lock now belongs to another process of the same account.
func TestLockOfAnotherProcessIsNoObstacle(t *testing.T) {
	dir := dataDir(t)
	first := newServer(t, pgembed.Config{DataDir: dir, Ephemeral: true})
	require.NoError(t, first.Start(t.Context()))
	require.NoError(t, first.Stop(t.Context()))

	info, err := os.Stat(dir)
	require.NoError(t, err)
	owner := info.Sys().(*syscall.Stat_t)
	other := exec.Command("sleep", "600")
	if os.Geteuid() == 0 {
		other.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}
	}
	require.NoError(t, other.Start())
	t.Cleanup(func() { _ = other.Process.Kill(); _ = other.Wait() })

	lock := filepath.Join(dir, "data", "postmaster.pid")
	content := fmt.Sprintf("%d\n%s/data\n1\n5432\n%s/socket\n\n\nready\n", other.Process.Pid, dir, dir)
	require.NoError(t, os.WriteFile(lock, []byte(content), 0o600))
	require.NoError(t, os.Chown(lock, int(owner.Uid), int(owner.Gid)))
	second := newServer(t, pgembed.Config{DataDir: dir, Ephemeral: true})
	require.NoError(t, second.Start(t.Context()))
}

func TestLongDataDirectory(t *testing.T) {
	server := newServer(t, pgembed.Config{DataDir: filepath.Join(dataDir(t), strings.Repeat("long", 30)), Ephemeral: true})
	require.NoError(t, server.Start(t.Context()))
	require.Equal(t, "1", query(t, server.DSN(), "SELECT '1'"))
}

func TestCrashWithoutRestart(t *testing.T) {
	exits := make(chan error, 1)
	server := newServer(t, pgembed.Config{
		DataDir: dataDir(t), Ephemeral: true, OnExit: func(err error) { exits <- err },
	})
	require.NoError(t, server.Start(t.Context()))
	require.NoError(t, syscall.Kill(server.Pid(), syscall.SIGQUIT))
	require.Error(t, <-exits)
	require.Zero(t, server.Pid())
}

func TestFailedStartSaysWhyAndLeavesNothing(t *testing.T) {
	server := newServer(t, pgembed.Config{
		DataDir: dataDir(t), Ephemeral: true, Settings: map[string]string{"no_such_setting": "1"},
	})
	require.ErrorContains(t, server.Start(t.Context()), "no_such_setting")
	require.NoDirExists(t, server.SocketDir())
}

func TestClosedParentIsExplained(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root runs the server under another account")
	}
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	server := newServer(t, pgembed.Config{DataDir: filepath.Join(dir, "pg")})
	var closed *pgembed.ClosedError
	require.ErrorAs(t, server.Start(t.Context()), &closed)
	require.Equal(t, dir, closed.Dir)
}

func TestStopBeforeStart(t *testing.T) {
	require.NoError(t, newServer(t, pgembed.Config{DataDir: dataDir(t)}).Stop(t.Context()))
}

func TestConfigNamesTheField(t *testing.T) {
	_, err := pgembed.New(pgembed.Config{DataDir: "relative"})
	require.ErrorContains(t, err, "dataDir")
}

func TestFindHonoursTheEnvironment(t *testing.T) {
	t.Setenv(pgembed.BinDirEnv, t.TempDir())
	_, err := pgembed.Find()
	require.ErrorContains(t, err, pgembed.BinDirEnv)
}
