package demo_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/demo/demotest"
)

func call(t *testing.T, url, procedure, body string) map[string]any {
	t.Helper()
	answer, err := http.Post(url+"/"+procedure, "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode, "%s: %s", procedure, raw)
	var decoded map[string]any
	require.NoError(t, json.Unmarshal(raw, &decoded))
	return decoded
}

func ready(url string) bool {
	client := http.Client{Timeout: 5 * time.Second}
	answer, err := client.Get(url + "/readyz")
	if err != nil {
		return false
	}
	answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

func TestDemoSurvivesTheDeathOfEachProcess(t *testing.T) {
	dir := demotest.DataDir(t)
	first := demotest.Start(t, "--data-dir", dir)
	require.True(t, ready(first.URL))
	const create = "flyteidl2.project.ProjectService/CreateProject"
	call(t, first.URL, create, `{"project": {"id": "kept", "name": "kept"}}`)

	for _, child := range []string{"internal-kube", "postgres"} {
		victim := first.Child(child)
		require.NotZero(t, victim, child)
		require.NoError(t, syscall.Kill(victim, syscall.SIGKILL))
		require.Eventually(t, func() bool { now := first.Child(child); return now != 0 && now != victim }, demotest.Patience, 20*time.Millisecond,
			"%s comes back", child)
		require.Eventually(t, func() bool { return ready(first.URL) }, demotest.Patience, 50*time.Millisecond, "ready after the death of %s", child)
		require.False(t, first.Exited(), "the server outlives %s", child)
	}

	kube, postgres := first.Child("internal-kube"), first.Child("postgres")
	first.Kill()
	require.Eventually(t, func() bool { return !demotest.Alive(kube) && !demotest.Alive(postgres) }, demotest.Patience, 20*time.Millisecond,
		"children die with their parent")

	second := demotest.Start(t, "--data-dir", dir)
	require.True(t, ready(second.URL))
	projects, err := json.Marshal(call(t, second.URL, "flyteidl2.project.ProjectService/ListProjects", `{}`))
	require.NoError(t, err)
	require.Contains(t, string(projects), `"kept"`)
}

func TestCtrlCLeavesNothingBehind(t *testing.T) {
	demo := demotest.Start(t, "--ephemeral")
	children := demo.Children()
	require.NotEmpty(t, children)
	root := demo.DataDir
	require.DirExists(t, root)
	demo.Interrupt()
	require.Zero(t, demo.Wait(), demo.Output())
	for _, pid := range children {
		require.False(t, demotest.Alive(pid))
	}
	require.NoDirExists(t, root)
}

func TestSecondCtrlCStopsAtOnce(t *testing.T) {
	demo := demotest.Start(t, "--ephemeral")
	children := demo.Children()
	require.Eventually(t, func() bool { demo.Interrupt(); return demo.Exited() }, demotest.Patience, 50*time.Millisecond)
	require.Equal(t, 130, demo.Wait(), "it does not wait for a graceful stop")
	require.Eventually(t, func() bool {
		for _, pid := range children {
			if demotest.Alive(pid) {
				return false
			}
		}
		return true
	}, demotest.Patience, 20*time.Millisecond)
	t.Cleanup(func() { _ = os.RemoveAll(demo.DataDir) })
}

func TestDemoExplainsWhatIsInItsWay(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	busy := listener.Addr().(*net.TCPAddr).Port
	dir := demotest.DataDir(t)
	holder := demotest.Start(t, "--data-dir", dir)
	python := demotest.Python(t)
	taken := demotest.DataDir(t)
	_ = exec.Command("cp", "-r", dir, taken).Run() // files of a running demo come and go

	for name, one := range map[string]struct {
		code int
		args []string
		want []string
	}{
		"port in use":       {3, []string{"--ephemeral", "--listen", fmt.Sprintf("127.0.0.1:%d", busy)}, []string{"is in use", fmt.Sprintf("--listen 127.0.0.1:%d", busy+1)}},
		"directory in use":  {3, []string{"--data-dir", dir, "--listen", "127.0.0.1:0"}, []string{"another demo (process", "--data-dir"}},
		"copy":              {3, []string{"--data-dir", taken, "--listen", "127.0.0.1:0"}, []string{"is a copy of " + dir}},
		"no such Python":    {3, []string{"--ephemeral", "--listen", "127.0.0.1:0", "--python", "/nowhere"}, []string{"/nowhere", "pip install flyte"}},
		"no such image":     {2, []string{"--ephemeral", "--listen", "127.0.0.1:0", "--image", "x=/nowhere"}, []string{"--image x", "not a directory"}},
		"image without dir": {2, []string{"--image", "x"}, []string{"name=directory"}},
		"listen":            {2, []string{"--listen", "8090"}, []string{"--listen", "host:port"}},
		"contradiction":     {2, []string{"--ephemeral", "--data-dir", dir}, []string{"exclude each other"}},
		"unknown setting":   {2, []string{"--ephemeral", "--listen", "127.0.0.1:0", "--set", "runs.nonsense=1"}, []string{"nonsense"}},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"demo"}, one.args...)
			if !strings.Contains(strings.Join(one.args, " "), "--python") {
				args = append(args, "--python", python)
			}
			output, err := demotest.Run(t, args...)
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit)
			require.Equal(t, one.code, exit.ExitCode(), output)
			for _, want := range one.want {
				require.Contains(t, output, want)
			}
		})
	}
	require.False(t, holder.Exited())
}

func TestSecretsAreReadableOnlyByTheOwner(t *testing.T) {
	demo := demotest.Start(t, "--data-dir", demotest.DataDir(t))
	var tokens [][]byte
	for _, name := range []string{"secrets/signing-key", "secrets/internal-token"} {
		content, err := os.ReadFile(filepath.Join(demo.DataDir, name))
		require.NoError(t, err)
		tokens = append(tokens, bytes.TrimSpace(content))
	}
	err := filepath.WalkDir(demo.DataDir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // files of a running server come and go
		}
		info, err := entry.Info()
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		switch top := strings.SplitN(strings.TrimPrefix(path, demo.DataDir+"/"), "/", 2)[0]; {
		case entry.IsDir() && path != demo.DataDir && filepath.Dir(path) == demo.DataDir:
			require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), path)
		case top == "logs" && !entry.IsDir():
			content, err := os.ReadFile(path)
			require.NoError(t, err)
			for _, token := range tokens {
				require.False(t, bytes.Contains(content, token), "%s contains a secret", path)
			}
		}
		return nil
	})
	require.NoError(t, err)
}

func TestDemoRunsASampleThroughTheSDK(t *testing.T) {
	python := demotest.Python(t)
	if _, err := os.Stat(filepath.Join(python, "bin", "flyte")); err != nil {
		t.Skip("no Python environment with the SDK: run `make e2e-python` first")
	}
	sample, err := filepath.Abs("../examples/fanout.py")
	require.NoError(t, err)
	demo := demotest.Start(t, "--ephemeral", "--sample", sample)
	require.Eventually(t, func() bool { return strings.Contains(demo.Output(), "stays up until Ctrl-C") }, demotest.Patience, 100*time.Millisecond)
	require.Contains(t, demo.Output(), "7837", "the number of primes below 80,000")
	require.Contains(t, demo.Output(), "primes.csv")
	require.Contains(t, demo.Output(), "Try next")
	demo.Interrupt()
	require.Zero(t, demo.Wait())
}
