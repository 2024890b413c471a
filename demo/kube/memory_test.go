package kube_test

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/flyte-binary/flyte-binary/demo/demotest"
	"github.com/flyte-binary/flyte-binary/demo/kube"
	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/tests/bench/churn"
)

// TestTheHeapDoesNotKeepTheHistory writes one object again and again. The API server kept every version for 75 seconds, or
// forever when nothing more was written, and etcd the last 10,000 writes. A fixed limit of the heap then made an idle server
// collect garbage without a pause: 46 times in two minutes.
func TestTheHeapDoesNotKeepTheHistory(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "512MiB") // of the user's shell
	t.Setenv("GOGC", "5")
	_, client := profiled(t)

	figures := get(t, client, "/metrics")
	require.NotContains(t, figures, "watch_cache_capacity{", "no ring of past events")
	require.Equal(t, 100.0, figure(t, figures, `(?m)^go_gc_gogc_percent (\S+)`))
	require.Greater(t, figure(t, figures, `(?m)^go_gc_gomemlimit_bytes (\S+)`), 1e18, "the heap has no limit: collections cannot follow each other without a pause")

	const versions, size = 1000, 100 << 10
	maps := client.CoreV1().ConfigMaps("default")
	object, err := maps.Create(t.Context(), configMap("rewritten", nil), metav1.CreateOptions{})
	require.NoError(t, err)
	before := heap(t, client)
	for range versions {
		content := make([]byte, size*3/4)
		_, _ = rand.Read(content)
		object.Data = map[string]string{"content": base64.StdEncoding.EncodeToString(content)}
		object, err = maps.Update(t.Context(), object, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	grown := heap(t, client) - before
	t.Logf("the heap has grown by %.1f MiB with %d MiB written", grown/(1<<20), versions*size>>20)
	require.Less(t, grown, float64(versions*size/2))
}

// profiled starts an API server that shows its heap.
func profiled(t *testing.T) (*kube.Cluster, *kubernetes.Clientset) {
	t.Helper()
	cluster, err := kube.New(kube.Config{
		Dir: filepath.Join(t.TempDir(), "kube"), Program: demotest.Program(t), Profiling: true,
	}, zerolog.New(zerolog.NewTestWriter(t)))
	require.NoError(t, err)
	require.NoError(t, cluster.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, cluster.Stop(context.Background())) })
	client, err := kubernetes.NewForConfig(cluster.RESTConfig())
	require.NoError(t, err)
	return cluster, client
}

// heap is how much of the heap is live.
func heap(t *testing.T, client *kubernetes.Clientset) float64 {
	t.Helper()
	body, err := client.RESTClient().Get().AbsPath("/debug/pprof/heap").Param("gc", "1").Param("debug", "1").SetHeader("Accept", "*/*").DoRaw(t.Context())
	require.NoError(t, err)
	return figure(t, string(body), `# HeapAlloc = (\d+)`)
}

func get(t *testing.T, client *kubernetes.Clientset, path string) string {
	t.Helper()
	body, err := client.RESTClient().Get().AbsPath(path).SetHeader("Accept", "*/*").DoRaw(t.Context())
	require.NoError(t, err)
	return string(body)
}

func figure(t *testing.T, text, pattern string) float64 {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	require.NotNil(t, found, pattern)
	value, err := strconv.ParseFloat(found[1], 64)
	require.NoError(t, err)
	return value
}

// TestTheHeapAfterThousandsOfTasks writes what 5,000 tasks write, and what is live in the heap afterwards is what was live after 500.
// The heap has no limit that it could reach, so it must not grow.
func TestTheHeapAfterThousandsOfTasks(t *testing.T) {
	if testing.Short() {
		t.Skip("it writes 35,000 times")
	}
	cluster, client := profiled(t)
	require.NoError(t, v1.EnsureCRD(t.Context(), cluster.RESTConfig()))
	written, err := churn.New(t.Context(), cluster.RESTConfig())
	require.NoError(t, err)
	write := func(from, to int) {
		group, ctx := errgroup.WithContext(t.Context())
		group.SetLimit(8)
		for i := from; i < to; i++ {
			group.Go(func() error { return written.Task(ctx, i) })
		}
		require.NoError(t, group.Wait())
	}
	write(0, 500)
	before := heap(t, client)
	write(500, 5000)
	after := heap(t, client)
	t.Logf("live after 500 tasks: %.1f MiB, after 5,000: %.1f MiB", before/(1<<20), after/(1<<20))
	require.Less(t, after, before+48*(1<<20))
}
