package command_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/manager/command"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }

// run executes the tree with arguments and returns what it printed.
func run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	root := command.New()
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func TestVersion(t *testing.T) {
	out, err := run(t, "version")
	require.NoError(t, err)
	require.Contains(t, out, "flyte-binary dev")
}

func TestMoreCommands(t *testing.T) {
	root := command.New(&cobra.Command{Use: "demo", Run: func(*cobra.Command, []string) {}})
	found, _, err := root.Find([]string{"demo"})
	require.NoError(t, err)
	require.Equal(t, "demo", found.Name())
}

func TestMigrate(t *testing.T) {
	database := "database.url=" + pgtest.URL(pgtest.Empty(t))
	out, err := run(t, "migrate", "status", "--set", database)
	require.NoError(t, err)
	require.Contains(t, out, "00001_init.sql")
	require.Contains(t, out, "pending")
	_, err = run(t, "migrate", "up", "--set", database)
	require.NoError(t, err)
	out, err = run(t, "migrate", "status", "--set", database)
	require.NoError(t, err)
	require.NotContains(t, out, "pending")
	out, err = run(t, "migrate", "down", "--set", database)
	require.NoError(t, err)
	require.Contains(t, out, "of runs")
	out, err = run(t, "migrate", "down", "--schema", "cache", "--set", database)
	require.NoError(t, err)
	require.Contains(t, out, "of cache")
	_, err = run(t, "migrate", "down", "--schema", "attic", "--set", database)
	require.ErrorContains(t, err, "attic")
	_, err = run(t, "migrate", "up")
	require.ErrorContains(t, err, "database.url")
}

func TestConfigShow(t *testing.T) {
	out, err := run(t, "config", "show", "--set", "auth.internalToken=hunter2")
	require.NoError(t, err)
	require.Contains(t, out, "listen: 127.0.0.1:8090")
	require.NotContains(t, out, "hunter2")
	_, err = run(t, "config", "show", "--set", "server.lisen=x")
	require.ErrorContains(t, err, "lisen")
}

// kubeconfig names an API server that does not answer.
func kubeconfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, []byte(`apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: a, user: {}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
current-context: a
`), 0o600))
	return path
}

func TestDoctorFailsWithAReport(t *testing.T) {
	out, err := run(t, "doctor",
		"--set", "database.url="+pgtest.URL(pgtest.Empty(t)), "--set", "storage.url="+t.TempDir(),
		"--set", "kubernetes.kubeconfig="+kubeconfig(t))
	require.ErrorContains(t, err, "problems found")
	require.Contains(t, out, "FAIL  database: ")
	require.Contains(t, out, "fix: run `flyte-binary migrate up`")
	require.Contains(t, out, "FAIL  API server: ")
	require.Contains(t, out, "ok    storage: ")
}

func TestServe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join([]string{
		"server: {listen: \"127.0.0.1:0\"}",
		"logging: {format: json}",
		"database: {url: \"" + pgtest.URL(pgtest.Empty(t)) + "\"}",
		"storage: {url: " + t.TempDir() + "}",
		"kubernetes: {kubeconfig: " + kubeconfig(t) + "}",
		"executor: {startupWait: 0s}",
	}, "\n")), 0o600))
	log := &follower{lines: make(chan string, 100)}
	root := command.New()
	root.SetErr(log)
	root.SetArgs([]string{"serve", "--config", path})
	ended := make(chan error, 1)
	go func() { ended <- root.ExecuteContext(t.Context()) }()
	address := log.await(t, `"address":"`, ended)
	address = address[:strings.Index(address, `"`)]
	response, err := http.Get("http://" + address + "/healthz")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)

	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGTERM))
	require.NoError(t, <-ended)
}

// follower is a log that a test waits on.
type follower struct {
	lines chan string

	mu      sync.Mutex
	partial string // GUARDED_BY(mu)
}

// Write implements io.Writer.
func (f *follower) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.partial += string(p)
	for {
		line, rest, found := strings.Cut(f.partial, "\n")
		if !found {
			return len(p), nil
		}
		f.partial = rest
		select {
		case f.lines <- line:
		default: // no test is waiting
		}
	}
}

// await returns what follows text in the log.
func (f *follower) await(t *testing.T, text string, ended <-chan error) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		select {
		case line := <-f.lines:
			if _, rest, found := strings.Cut(line, text); found {
				return rest
			}
		case err := <-ended:
			t.Fatalf("the command ended: %v", err)
		case <-ctx.Done():
			t.Fatalf("%q never appeared in the log", text)
		}
	}
}
