package command_test

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/manager/command"
)

// exit runs the program and returns what it printed, on both outputs, and its exit code.
func exit(t *testing.T, args ...string) (string, int) {
	t.Helper()
	var out bytes.Buffer
	root := command.New()
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(args)
	code := command.Main(t.Context(), root)
	return out.String(), code
}

func TestMistakesOnTheCommandLine(t *testing.T) {
	for _, one := range []struct {
		args []string
		want string
	}{
		{[]string{"serv"}, `unknown command "serv"`},
		{[]string{"serve", "--tagret", "api"}, "unknown flag: --tagret; did you mean --target?"},
		{[]string{"serve", "--listen", ":1"}, "did you mean --set server.listen=…?"},
		{[]string{"serve", "now"}, `unknown command "now"`},
		{[]string{"config", "check", "--set", "server.lisen=x"}, "configuration: --set server.lisen: unknown key; did you mean server.listen?"},
		{[]string{"migrate", "up"}, "configuration: database.url: required, such as postgres://"},
		{[]string{"serve"}, "configuration: 2 problems:\n  database.url: required"},
	} {
		out, code := exit(t, one.args...)
		require.Equal(t, 2, code, out)
		require.Contains(t, out, one.want)
	}
}

func TestServeNamesWhatFailed(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	closed := "postgres://flyte:hunter2@127.0.0.1:1/flyte?sslmode=disable"
	database := pgtest.URL(pgtest.Empty(t))
	blocked := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(blocked, nil, 0o600))
	for name, one := range map[string]struct {
		set  []string
		want string
	}{
		"database": {
			[]string{"database.url=" + closed},
			"flyte-binary: database: connect to 127.0.0.1:1, database flyte, user flyte: connection refused: nothing listens there\n" +
				"  fix: check database.url, and that Postgres runs and accepts connections from this machine\n",
		},
		"port": {
			[]string{"server.listen=" + taken.Addr().String()},
			"flyte-binary: port: listen on " + taken.Addr().String() + ": the port is in use by another program\n  fix: stop that program, or choose another port",
		},
		"storage": {
			[]string{"storage.url=" + blocked + "/below"},
			"flyte-binary: storage: use " + blocked + "/below: " + blocked + ": not a directory\n  fix: set storage.url to a directory",
		},
		"kubeconfig": {
			[]string{"kubernetes.kubeconfig=/nowhere/config"},
			"flyte-binary: API server: read the kubeconfig file /nowhere/config: no such file or directory\n  fix: correct kubernetes.kubeconfig",
		},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"serve", "--set", "server.listen=127.0.0.1:0", "--set", "database.url=" + database, "--set", "storage.url=" + t.TempDir(), "--set", "logging.level=error"}
			for _, override := range one.set {
				args = append(args, "--set", override)
			}
			out, code := exit(t, args...)
			require.Equal(t, 3, code, out)
			require.Contains(t, out, one.want)
			require.NotContains(t, out, "hunter2")
		})
	}
}

func TestDoctorSaysTheSame(t *testing.T) {
	out, code := exit(t, "doctor", "--set", "database.url=postgres://flyte:hunter2@127.0.0.1:1/flyte?sslmode=disable",
		"--set", "storage.url="+t.TempDir(), "--set", "kubernetes.kubeconfig="+kubeconfig(t))
	require.Equal(t, 3, code)
	require.Contains(t, out, "FAIL  database: connect to 127.0.0.1:1, database flyte, user flyte: connection refused: nothing listens there\n"+
		"      fix: check database.url, and that Postgres runs and accepts connections from this machine\n")
	require.Contains(t, out, "FAIL  API server: get the version at http://127.0.0.1:1: connection refused")
	require.Contains(t, out, "flyte-binary: 3 problems found\n")
	require.NotContains(t, out, "hunter2")
}

// What client-go logs by itself does not reach people.
func TestCommandsForPeopleAreQuiet(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	stderr := os.Stderr
	os.Stderr = write
	t.Cleanup(func() { os.Stderr = stderr })
	klog.ClearLogger()
	// The kubeconfig has a file of certificates that does not exist, and no context: client-go warns.
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	_, code := exit(t, "doctor", "--set", "database.url=postgres://127.0.0.1:1/x", "--set", "storage.url="+t.TempDir(), "--set", "kubernetes.kubeconfig="+path)
	klog.Warning("a library warns")
	klog.Flush()
	require.NoError(t, write.Close())
	printed := make([]byte, 1<<10)
	n, _ := read.Read(printed)
	require.Equal(t, 3, code)
	require.Empty(t, string(printed[:n]))
}

func TestConfigShowNamesOrigins(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flyte.yaml")
	require.NoError(t, os.WriteFile(path, []byte("server:\n  listen: a:1\n  allowedHosts: [x.example]\n"), 0o600))
	t.Setenv("FLYTE_LOGGING_LEVEL", "debug")
	out, code := exit(t, "config", "show", "--config", path, "--set", "auth.internalToken=hunter2", "--target", "api", "--cluster", "east")
	require.Zero(t, code)
	require.Contains(t, out, "  id: east # --set cluster.id\n")
	require.Contains(t, out, "target: api # --set target\n")
	require.Contains(t, out, "  listen: a:1 # "+path+":2\n")
	require.Contains(t, out, "  allowedHosts: # "+path+":3\n    - x.example\n")
	require.Contains(t, out, "  level: debug # FLYTE_LOGGING_LEVEL\n")
	require.Contains(t, out, "  shutdownGrace: 20s\n")
	require.NotContains(t, out, "hunter2")
	shown := filepath.Join(t.TempDir(), "shown.yaml")
	require.NoError(t, os.WriteFile(shown, []byte(out), 0o600))
	_, code = exit(t, "config", "show", "--config", shown)
	require.Zero(t, code, "what is shown can be read again")

	out, code = exit(t, "config", "show", "--config", path, "--output", "json")
	require.Zero(t, code)
	require.Contains(t, out, `"server.listen": "`+path+`:2"`)
	_, code = exit(t, "config", "show", "--output", "toml")
	require.Equal(t, 1, code)
}
