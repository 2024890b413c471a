package pgtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgembed"
)

// start starts the shared server. release lets the watcher clean up at once.
func start(ctx context.Context) (*pgembed.Server, func(), error) {
	dir, err := os.MkdirTemp(parent(), "flyte-pgtest-")
	if err != nil {
		return nil, nil, fmt.Errorf("create directory: %w", err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		return nil, nil, fmt.Errorf("open directory: %w", err)
	}
	server, err := pgembed.New(pgembed.Config{
		DataDir: filepath.Join(dir, "pg"), Ephemeral: true, MaxConnections: 300, Log: zerolog.Nop(),
		Settings: map[string]string{"max_wal_senders": "0", "wal_level": "minimal", "shared_buffers": "64MB", "dynamic_shared_memory_type": "mmap"},
	})
	if err == nil {
		err = server.Start(ctx)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("postgres for tests: %w", err)
	}
	release, err := cleaner(server.Pid(), dir, server.SocketDir())
	if err != nil {
		return nil, nil, err
	}
	return server, release, nil
}

// parent is where data directories are made: in memory if there is plenty of it, since a database for each test means
// thousands of small files, which cost a disk's file system most of the time of a test.
func parent() string {
	const memory, plenty = "/dev/shm", 4 << 30
	var free syscall.Statfs_t
	if err := syscall.Statfs(memory, &free); err != nil || free.Bavail*uint64(free.Bsize) < plenty {
		return os.TempDir()
	}
	return memory
}

// cleanup waits for the end of its input, which comes when this process ends, stops the server and removes the directories.
const cleanup = `
cat >/dev/null
kill -QUIT "$1" 2>/dev/null
tries=0
while kill -0 "$1" 2>/dev/null && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries+1)); done
kill -KILL "$1" 2>/dev/null
rm -rf "$2" "$3"
`

// cleaner starts a shell that outlives this process: tests end by os.Exit, panic or kill, so that no deferred code would
// run.
func cleaner(pid int, dirs ...string) (func(), error) {
	args := append([]string{"-c", cleanup, "flyte-pgtest-cleanup", strconv.Itoa(pid)}, dirs...)
	cmd := exec.Command("/bin/sh", args...) //nolint:noctx // it outlives every test
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("watcher: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("watcher: %w", err)
	}
	return func() {
		_ = input.Close() // also happens by itself
		_ = cmd.Wait()    // nothing depends on how it ends
	}, nil
}

// Main is for TestMain of packages that look for leaked goroutines: it runs the tests and stops the server before it
// returns the exit code, so that the server's goroutines are not taken for leaks.
func Main(m *testing.M) int {
	code := m.Run()
	shared.mu.Lock()
	defer shared.mu.Unlock()
	if shared.server != nil {
		if err := shared.server.Stop(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "stop postgres:", err)
			code = max(code, 1)
		}
		shared.release()
	}
	return code
}

// digest identifies a set of migrations.
func digest(t testing.TB, schemas []pgdb.Schema) string {
	t.Helper()
	hash := sha256.New()
	for _, schema := range schemas {
		require.NoError(t, fs.WalkDir(schema.Files, ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			body, err := fs.ReadFile(schema.Files, path)
			if err != nil {
				return err
			}
			_, err = io.WriteString(hash, fmt.Sprintf("%s\x00%s\x00%s\x00%d\x00%s", schema.Namespace, schema.Table, path, len(body), body))
			return err
		}))
	}
	return hex.EncodeToString(hash.Sum(nil))[:16]
}
