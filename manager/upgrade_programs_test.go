package manager_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// newProgram and oldProgram are the versions of an upgrade. In CI the old one is that of the commit before; without it both are
// the program that was built.
func newProgram(t *testing.T) string {
	t.Helper()
	path := cmp.Or(os.Getenv("FLYTE_UPGRADE_NEW"), os.Getenv("FLYTE_BINARY_DEMO"), filepath.Join("..", "bin", "flyte-binary"))
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the program is not built: run `make build-demo` (%v)", err)
	}
	return path
}

func oldProgram(t *testing.T) string {
	t.Helper()
	return cmp.Or(os.Getenv("FLYTE_UPGRADE_OLD"), newProgram(t))
}

// fleet is replicas of the real program behind what represents a Kubernetes Service: callers use those that are ready.
type fleet struct {
	t      *testing.T
	config string
	client *http.Client
	turn   atomic.Int64

	mu       sync.Mutex
	replicas []*program // GUARDED_BY(mu): those that new calls go to
}

// program is one running replica.
type program struct {
	url string
	cmd *exec.Cmd
	log string // file
}

func newFleet(t *testing.T, cluster *kubetest.Cluster, lease time.Duration) *fleet {
	t.Helper()
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	write := func(path string, value any) {
		body, err := json.Marshal(value)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, body, 0o600))
	}
	type object = map[string]any
	write(kubeconfig, object{
		"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": []object{{"name": "c", "cluster": object{"server": cluster.Config.Host, "insecure-skip-tls-verify": true}}},
		"users":    []object{{"name": "c", "user": object{"token": cluster.Config.BearerToken}}},
		"contexts": []object{{"name": "c", "context": object{"cluster": "c", "user": "c"}}},
	})
	f := &fleet{t: t, config: filepath.Join(dir, "config.yaml"), client: h2c(t)}
	write(f.config, object{
		"server":     object{"listen": "127.0.0.1:0", "shutdownGrace": "20s"},
		"database":   object{"url": pgtest.URL(pgtest.Empty(t)), "maxConns": 10},
		"storage":    object{"url": filepath.Join(dir, "store"), "sync": false, "publicURL": "http://127.0.0.1:1", "signingKey": "c3Rvcm0gc3Rvcm0gc3Rvcm0gc3Rvcm0gc3Rvcm0gc3Q="},
		"kubernetes": object{"kubeconfig": kubeconfig},
		"logging":    object{"format": "json"},
		"replicas":   object{"several": true, "namespace": cluster.Namespace, "lease": object{"duration": lease.String()}},
		"actions":    object{"taskActions": object{"namespace": cluster.Namespace}},
		"executor":   object{"namespaces": []string{cluster.Namespace}, "pod": object{"endpoint": "127.0.0.1:1"}},
	})
	return f
}

// add starts a replica and waits until it is ready.
func (f *fleet) add(path string, settings ...string) *program {
	f.t.Helper()
	args := []string{"serve", "--config", f.config}
	for _, setting := range settings {
		args = append(args, "--set", setting)
	}
	log, err := os.CreateTemp(f.t.TempDir(), "replica-*.log")
	require.NoError(f.t, err)
	p := &program{cmd: exec.CommandContext(f.t.Context(), path, args...), log: log.Name()}
	p.cmd.Cancel = func() error { return p.cmd.Process.Kill() }
	output, err := p.cmd.StderrPipe()
	require.NoError(f.t, err)
	require.NoError(f.t, p.cmd.Start())
	address := make(chan string, 1)
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer log.Close()
		lines := bufio.NewReader(output)
		for {
			line, err := lines.ReadString('\n')
			_, _ = io.WriteString(log, line) // the log is for people
			var said struct{ Message, Address string }
			if json.Unmarshal([]byte(line), &said) == nil && said.Message == "serving" {
				address <- said.Address
			}
			if err != nil {
				close(address)
				return
			}
		}
	}()
	f.t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // unless it has ended
		<-read
		_ = p.cmd.Wait()
		if f.t.Failed() {
			body, _ := os.ReadFile(p.log)
			for line := range strings.Lines(string(body)) {
				if strings.Contains(line, `"level":"error"`) || strings.Contains(line, `"level":"warn"`) || strings.Contains(line, "stop") {
					f.t.Logf("%s: %.300s", p.url, line)
				}
			}
		}
	})
	at, ok := <-address
	if !ok {
		body, _ := os.ReadFile(p.log)
		require.Fail(f.t, "the replica ended", "%s", body)
	}
	p.url = "http://" + at
	require.Eventually(f.t, p.ready, 2*time.Minute, 20*time.Millisecond, p.url)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.replicas = append(f.replicas, p)
	return p
}

func (p *program) ready() bool {
	response, err := http.Get(p.url + "/readyz")
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// replace does what a rolling upgrade does with one replica: it starts the new one, stops the old one, and takes it out of
// the Service when its readiness fails.
func (f *fleet) replace(old *program, path string, settings ...string) {
	f.t.Helper()
	f.add(path, settings...)
	require.NoError(f.t, old.cmd.Process.Signal(syscall.SIGTERM))
	if len(settings) > 0 { // a version that drains says so
		require.Eventually(f.t, func() bool { return !old.ready() }, time.Minute, time.Millisecond)
	}
	f.mu.Lock()
	for i, one := range f.replicas {
		if one == old {
			f.replicas = append(f.replicas[:i:i], f.replicas[i+1:]...)
			break
		}
	}
	f.mu.Unlock()
	state, err := old.cmd.Process.Wait()
	require.NoError(f.t, err)
	require.True(f.t, state.Success(), "the replica stopped with %s", state)
}

// next is the address for the next call.
func (f *fleet) next() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.replicas[int(f.turn.Add(1))%len(f.replicas)].url
}

// retried calls until a call succeeds, as the SDK does: again when the answer is unavailable. Every other failure is one
// of the upgrade.
func (f *fleet) retried(call func(url string) error) (tries int) {
	for {
		tries++
		err := call(f.next())
		switch {
		case err == nil || f.t.Context().Err() != nil:
			return tries
		case connect.CodeOf(err) != connect.CodeUnavailable:
			f.t.Errorf("a call was answered with %v", err)
			return tries
		}
		_ = clock.Sleep(f.t.Context(), clock.System{}, 10*time.Millisecond) // as clients do between tries
	}
}
