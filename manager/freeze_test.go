package manager_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
)

// TestAFrozenReplicaLosesItsShards: one of three replicas is stopped in the middle of its work, for longer than its lease, and continues
// then. The others take over its shards meanwhile, no task runs twice, and the first thing that the thawed replica decides to write to the
// cluster is its renewal; objects of the work that it was at may have been on their way when it was stopped. Then it gets its share again.
func TestAFrozenReplicaLosesItsShards(t *testing.T) {
	cluster := kubetest.New(t)
	first, rest := make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	executions := map[string]int{}
	kubetest.StartNode(t, cluster, kubetest.NodeOptions{SkipBinding: true, Program: func(ctx context.Context, pod *corev1.Pod) kubetest.Result {
		args := pod.Spec.Containers[0].Args
		mu.Lock()
		executions[args[1]]++
		mu.Unlock()
		end := rest
		if strings.HasPrefix(args[1], "first") {
			end = first
		}
		select {
		case <-end:
		case <-ctx.Done():
			return kubetest.Result{ExitCode: 1}
		}
		if os.MkdirAll(args[0], 0o755) != nil || os.WriteFile(filepath.Join(args[0], "outputs.pb"), nil, 0o600) != nil {
			return kubetest.Result{ExitCode: 1}
		}
		return kubetest.Result{}
	}})
	executed := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(executions)
	}
	f := newFleet(t, cluster, 3*time.Second)
	victimsWay := recordWrites(t, cluster.Config)
	victim := f.add(newProgram(t), "kubernetes.kubeconfig="+victimsWay.kubeconfig)
	others := []*program{f.add(newProgram(t)), f.add(newProgram(t))}
	created := 0
	var names []string
	create := func(prefix string, count int) {
		for range count {
			name := fmt.Sprint(prefix, created)
			names = append(names, name)
			created++
			f.retried(func(url string) error {
				_, err := workflowconnect.NewRunServiceClient(f.client, url).CreateRun(t.Context(), sleeper(name))
				return err
			})
		}
	}
	patience := 2 * time.Minute
	require.Eventually(t, func() bool { return slices.Equal(shares(t, cluster), []int{5, 5, 6}) }, patience, 20*time.Millisecond)
	create("first", 24)
	create("rest", 24)
	require.Eventually(t, func() bool { return executed() == created }, patience, 20*time.Millisecond)

	atWork := created
	create("rest", 8) // it is at work on these
	require.NoError(t, victim.cmd.Process.Signal(syscall.SIGSTOP))
	thaw := sync.OnceFunc(func() { require.NoError(t, victim.cmd.Process.Signal(syscall.SIGCONT)) })
	t.Cleanup(thaw)
	frozen := time.Now()
	f.mu.Lock()
	f.replicas = others // its readiness fails
	f.mu.Unlock()
	require.Eventually(t, func() bool { return slices.Equal(shares(t, cluster), []int{8, 8}) }, patience, 20*time.Millisecond)
	t.Logf("the shards of the frozen replica have other owners after %s", time.Since(frozen).Round(time.Millisecond))
	close(first)
	create("first", 8)
	require.Eventually(t, func() bool { return f.succeeded() == 32 && executed() == created }, patience, 100*time.Millisecond)

	victimsWay.clear()
	thaw()
	close(rest)
	require.Eventually(t, func() bool { return slices.Equal(shares(t, cluster), []int{5, 5, 6}) }, patience, 20*time.Millisecond)
	create("rest", 24)
	require.Eventually(t, func() bool { return f.succeeded() == created }, patience, 100*time.Millisecond)
	writes := victimsWay.clear()
	renewal := slices.IndexFunc(writes, func(w write) bool { return strings.Contains(w.what, "/leases/") })
	require.GreaterOrEqual(t, renewal, 0)
	for _, before := range writes[:renewal] {
		began := slices.ContainsFunc(names[atWork:atWork+8], func(name string) bool { return strings.Contains(before.body, name) })
		require.True(t, began && strings.HasPrefix(before.what, http.MethodPost), "the thawed replica wrote before it knew what it owns: %s", before.what)
	}
	mu.Lock()
	defer mu.Unlock()
	for name, count := range executions {
		require.Equal(t, 1, count, "%s was executed more than once", name)
	}
}

// TestALoneReplicaOwnsAllShards cheaply: each shard had as many idle goroutines as a whole process.
func TestALoneReplicaOwnsAllShards(t *testing.T) {
	cluster := kubetest.New(t)
	f := newFleet(t, cluster, 3*time.Second)
	one := f.add(newProgram(t))
	require.Eventually(t, func() bool { return slices.Equal(shares(t, cluster), []int{16}) }, 2*time.Minute, 20*time.Millisecond)
	value := func(name string) (value float64) {
		response, err := http.Get(one.url + "/metrics")
		require.NoError(t, err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		_, after, found := strings.Cut(string(body), "\n"+name+" ")
		require.True(t, found, "no metric %s", name)
		_, err = fmt.Sscan(after, &value)
		require.NoError(t, err)
		return value
	}
	require.Eventually(t, func() bool { return value("flyte_controller_shards") == 16 }, time.Minute, 20*time.Millisecond)
	goroutines := value("go_goroutines")
	t.Logf("%v goroutines, %.0f MiB", goroutines, value("process_resident_memory_bytes")/(1<<20))
	require.Less(t, goroutines, 2500.)
}

// shares are how many shards each replica owns, in ascending order; nil while one has no owner.
func shares(t *testing.T, cluster *kubetest.Cluster) []int {
	t.Helper()
	leases, err := cluster.Clientset.CoordinationV1().Leases(cluster.Namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	counts := map[string]int{}
	for _, lease := range leases.Items {
		var table struct{ Owners []string }
		if text := lease.Annotations["flyte.org/shards"]; text != "" {
			require.NoError(t, json.Unmarshal([]byte(text), &table))
		}
		for _, owner := range table.Owners {
			if owner == "" {
				return nil
			}
			counts[owner]++
		}
	}
	var sorted []int
	for _, count := range counts {
		sorted = append(sorted, count)
	}
	slices.Sort(sorted)
	return sorted
}

// recorder is a way to the API server that notes what is written.
type recorder struct {
	kubeconfig string

	mu     sync.Mutex
	writes []write // GUARDED_BY(mu)
}

type write struct{ what, body string } // what is the method and the path

// clear returns what was written since it was called last.
func (r *recorder) clear() []write {
	r.mu.Lock()
	defer r.mu.Unlock()
	writes := r.writes
	r.writes = nil
	return writes
}

func recordWrites(t *testing.T, config *rest.Config) *recorder {
	t.Helper()
	target, err := url.Parse(config.Host)
	require.NoError(t, err)
	transport, err := rest.TransportFor(config)
	require.NoError(t, err)
	r := &recorder{kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	forward := httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(target) }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.Method != http.MethodGet {
			body, err := io.ReadAll(request.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			request.Body = io.NopCloser(bytes.NewReader(body))
			r.mu.Lock()
			r.writes = append(r.writes, write{what: request.Method + " " + request.URL.Path, body: string(body)})
			r.mu.Unlock()
		}
		forward.ServeHTTP(w, request)
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	body, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "c",
		"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{"server": server.URL}}},
		"users":    []any{map[string]any{"name": "c", "user": map[string]any{}}},
		"contexts": []any{map[string]any{"name": "c", "context": map[string]any{"cluster": "c", "user": "c"}}},
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(r.kubeconfig, body, 0o600))
	return r
}
