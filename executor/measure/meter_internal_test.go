package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/internal/obs/metrictest"
	"github.com/flyte-binary/flyte-binary/internal/work/backoff"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// cluster answers as an API server with kubelets behind it, and counts what it is asked for.
type cluster struct {
	mu        sync.Mutex
	asked     map[string]int    // GUARDED_BY(mu): by path
	summaries map[string]string // GUARDED_BY(mu): by node; none is a kubelet that does not answer
	metrics   string            // GUARDED_BY(mu): the answer of the metrics API; empty is none
	forbidden bool              // GUARDED_BY(mu): nodes/proxy
	hanging   string            // GUARDED_BY(mu): the node whose kubelet takes requests and does not answer
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[r.URL.Path]++
	if c.hanging != "" && r.URL.Path == "/api/v1/nodes/"+c.hanging+"/proxy/stats/summary" {
		c.mu.Unlock()
		<-r.Context().Done()
		c.mu.Lock()
		return
	}
	fail := func(code int, reason string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, reason, code)
	}
	if r.URL.Path == "/apis/metrics.k8s.io/v1beta1/pods" && c.metrics != "" && r.URL.Query().Get("labelSelector") == "flyte.org/managed=true" {
		_, _ = w.Write([]byte(c.metrics))
		return
	}
	var node string
	if _, err := fmt.Sscanf(r.URL.Path, "/api/v1/nodes/%2s/proxy/stats/summary", &node); err != nil || c.summaries[node] == "" {
		if c.forbidden {
			fail(http.StatusForbidden, "Forbidden")
			return
		}
		fail(http.StatusNotFound, "NotFound")
		return
	}
	if c.forbidden {
		fail(http.StatusForbidden, "Forbidden")
		return
	}
	_, _ = w.Write([]byte(c.summaries[node]))
}

func (c *cluster) count(path string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked[path]
}

func (c *cluster) change(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// kubeletSummary is an answer of a kubelet of 1.36, shortened: a pod with two containers.
func kubeletSummary(uid string, at time.Time, coreNanos, memory uint64) string {
	stamp, _ := json.Marshal(at)
	return fmt.Sprintf(`{"node":{"nodeName":"n1","cpu":{"usageNanoCores":1}},"pods":[{"podRef":{"name":"p","namespace":"ns","uid":%[1]q},
		"containers":[{"name":"main","startTime":%[2]s,"cpu":{"time":%[2]s,"usageNanoCores":400000000,"usageCoreNanoSeconds":%[3]d},
			"memory":{"time":%[2]s,"usageBytes":999,"workingSetBytes":%[4]d,"rssBytes":1},"rootfs":{"usedBytes":3}},
			{"name":"side","cpu":{"time":%[2]s,"usageNanoCores":100000000,"usageCoreNanoSeconds":0},"memory":{"time":%[2]s,"workingSetBytes":1000}}],
		"ephemeral-storage":{"time":%[2]s,"usedBytes":4096}}]}`, uid, stamp, coreNanos, memory)
}

// recorder keeps what is reported.
type recorder struct {
	down  bool
	calls []*enginev1.RecordUsageRequest
}

func (r *recorder) RecordUsage(_ context.Context, request *enginev1.RecordUsageRequest) (*enginev1.RecordUsageResponse, error) {
	if r.down {
		return nil, errors.New("the API is away")
	}
	r.calls = append(r.calls, request)
	return &enginev1.RecordUsageResponse{}, nil
}

type fixture struct {
	*cluster
	*recorder
	meter   *Meter
	clock   *clock.Fake
	reader  *sdkmetric.ManualReader
	running []Pod
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{
		cluster:  &cluster{asked: map[string]int{}, summaries: map[string]string{}},
		recorder: &recorder{}, reader: sdkmetric.NewManualReader(), clock: clock.NewFake(time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC)),
	}
	server := httptest.NewServer(f.cluster)
	t.Cleanup(server.Close)
	clients, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	require.NoError(t, err)
	f.meter, err = New(Config{Interval: 15 * time.Second, First: 2 * time.Second, Report: time.Minute, Kubelets: true}, Deps{
		Running: func(context.Context) []Pod { return f.running },
		Get: func(context.Context, string, string) (*corev1.Pod, error) {
			always := corev1.ContainerRestartPolicyAlways
			list := func(cpu string) corev1.ResourceRequirements {
				return corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), "nvidia.com/gpu": resource.MustParse("1")},
					Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")},
				}
			}
			return &corev1.Pod{Spec: corev1.PodSpec{
				InitContainers: []corev1.Container{{Name: "once", Resources: list("9")}, {Name: "side", RestartPolicy: &always, Resources: list("100m")}},
				Containers:     []corev1.Container{{Name: "main", Resources: list("500m")}},
			}}, nil
		},
		Cluster: clients.CoreV1().RESTClient(), Recorder: f.recorder, Clock: f.clock, Logger: zerolog.Nop(), Meter: sdkmetric.NewMeterProvider(sdkmetric.WithReader(f.reader)),
	})
	require.NoError(t, err)
	return f
}

// round measures once, some seconds after the last one.
func (f *fixture) round(t *testing.T) {
	t.Helper()
	f.meter.round(t.Context())
	f.clock.Step(15 * time.Second)
}

func TestAPodIsMeasuredByItsKubelet(t *testing.T) {
	f := newFixture(t)
	f.round(t)
	require.Empty(t, f.asked, "no attempt runs, and no node is asked")

	f.running = []Pod{{Namespace: "ns", Name: "p", UID: "u1", Node: "n1", Attempt: Attempt{UID: 7, Number: 2}}}
	f.summaries["n1"] = kubeletSummary("u1", f.clock.Now(), 10e9, 5000)
	f.round(t)
	require.Len(t, f.calls, 1, "the first measurement is reported at once")
	first := f.calls[0].GetUsages()[0]
	require.EqualValues(t, 7, first.GetUid())
	require.EqualValues(t, 2, first.GetAttempt())
	require.EqualValues(t, 600, first.GetRequests().GetCpuMilli(), "init containers that have ended do not count")
	require.Nil(t, first.GetLimits().CpuMilli)
	require.EqualValues(t, 2<<30, first.GetLimits().GetMemoryBytes())
	require.EqualValues(t, 2, first.GetGpus())
	require.EqualValues(t, 500, first.GetPoints()[0].GetUsed().GetCpuMilli(), "the kubelet's own rate")
	require.EqualValues(t, 6000, first.GetPoints()[0].GetUsed().GetMemoryBytes())
	require.EqualValues(t, 4096, first.GetPoints()[0].GetUsed().GetDiskBytes())
	require.Nil(t, first.GetPoints()[0].GetUsed().GpuPercent)

	f.round(t) // the kubelet has nothing new
	f.change(func() { f.summaries["n1"] = kubeletSummary("u1", f.clock.Now(), 10e9+15e9, 7000) })
	f.round(t)
	require.Len(t, f.calls, 1, "the rest waits")
	f.running = nil
	f.round(t)
	require.Len(t, f.calls, 2, "the last ones of an attempt that ended are reported at once")
	points := f.calls[1].GetUsages()[0].GetPoints()
	require.Len(t, points, 1)
	require.EqualValues(t, 500, points[0].GetUsed().GetCpuMilli(), "15 s of a core in 30 s")
	require.Empty(t, f.meter.pods)
	require.Empty(t, f.meter.usages, "nothing is remembered of it")
	asked := f.count("/api/v1/nodes/n1/proxy/stats/summary")
	f.round(t)
	require.Equal(t, asked, f.count("/api/v1/nodes/n1/proxy/stats/summary"), "nothing runs, and nothing is asked")
}

func TestMeasurementsWaitForTheAPI(t *testing.T) {
	f := newFixture(t)
	f.running = []Pod{{Namespace: "ns", Name: "p", UID: "u1", Node: "n1", Attempt: Attempt{UID: 7, Number: 1}}}
	f.down = true
	for i := range 5 {
		f.change(func() { f.summaries["n1"] = kubeletSummary("u1", f.clock.Now(), uint64(i)*1e9, 1) })
		f.round(t)
	}
	f.running, f.down = nil, false
	f.round(t)
	require.Len(t, f.calls, 1)
	require.Len(t, f.calls[0].GetUsages()[0].GetPoints(), 5)
}

func TestPodsOfAnAttemptAreSummed(t *testing.T) {
	f := newFixture(t)
	f.running = []Pod{
		{Namespace: "ns", Name: "p", UID: "u1", Node: "n1", Attempt: Attempt{UID: 7, Number: 1}},
		{Namespace: "ns", Name: "q", UID: "u2", Node: "n2", Attempt: Attempt{UID: 7, Number: 1}},
		{Namespace: "ns", Name: "r", UID: "u3", Node: "n3", Attempt: Attempt{UID: 8, Number: 1}}, // whose node does not answer
	}
	f.summaries["n1"], f.summaries["n2"] = kubeletSummary("u1", f.clock.Now(), 0, 5000), kubeletSummary("u2", f.clock.Now(), 0, 8000)
	f.round(t)
	require.Len(t, f.calls[0].GetUsages(), 1)
	require.EqualValues(t, 15000, f.calls[0].GetUsages()[0].GetPoints()[0].GetUsed().GetMemoryBytes())
	require.EqualValues(t, 1200, f.calls[0].GetUsages()[0].GetRequests().GetCpuMilli())
	require.Zero(t, f.count("/apis/metrics.k8s.io/v1beta1/pods"), "a node that is away is not a missing right")
}

func TestTheMetricsAPIHelpsWhereSummariesAreForbidden(t *testing.T) {
	f := newFixture(t)
	f.forbidden = true
	f.running = []Pod{{Namespace: "ns", Name: "p", UID: "u1", Node: "n1", Attempt: Attempt{UID: 7, Number: 1}}}
	f.round(t)
	require.Empty(t, f.calls, "neither can be read, and nothing else happens")
	f.round(t)
	require.Equal(t, 1, f.count("/api/v1/nodes/n1/proxy/stats/summary"), "a missing right is not asked for again at once")

	f.metrics = `{"kind":"PodMetricsList","items":[{"metadata":{"name":"p","namespace":"ns"},"timestamp":"2026-07-01T00:20:00Z","window":"15s",
		"containers":[{"name":"main","usage":{"cpu":"250m","memory":"64Mi"}},{"name":"side","usage":{"cpu":"1500u","memory":"1Mi"}}]}]}`
	f.clock.Step(retryRefused)
	f.round(t)
	require.Len(t, f.calls, 1)
	used := f.calls[0].GetUsages()[0].GetPoints()[0].GetUsed()
	require.EqualValues(t, 252, used.GetCpuMilli())
	require.EqualValues(t, 65<<20, used.GetMemoryBytes())
	require.Nil(t, used.DiskBytes)
}

// TestAKubeletThatHangsDelaysNoOther: it is asked less and less often, and its pods are measured again when it answers.
func TestAKubeletThatHangsDelaysNoOther(t *testing.T) {
	f := newFixture(t)
	f.meter.sources.timeout = 50 * time.Millisecond
	f.running = []Pod{
		{Namespace: "ns", Name: "p", UID: "u1", Node: "n1", Attempt: Attempt{UID: 7, Number: 1}},
		{Namespace: "ns", Name: "q", UID: "u2", Node: "n2", Attempt: Attempt{UID: 8, Number: 1}},
	}
	const rounds = 40 // ten minutes
	f.hanging = "n2"
	for i := range rounds {
		f.change(func() { f.summaries["n1"] = kubeletSummary("u1", f.clock.Now(), uint64(i)*1e9, 1) })
		f.round(t)
	}
	require.Equal(t, rounds, f.count("/api/v1/nodes/n1/proxy/stats/summary"))
	asked := f.count("/api/v1/nodes/n2/proxy/stats/summary")
	require.Less(t, asked, 9, "each time costs the others its timeout")
	require.Greater(t, asked, 3)
	found := metrictest.Read(t, f.reader)
	require.EqualValues(t, rounds, found["flyte.usage.samples"])
	require.EqualValues(t, 1, found["flyte.usage.nodes state=answering"])
	require.EqualValues(t, 1, found["flyte.usage.nodes state=silent"])
	require.Zero(t, f.count("/apis/metrics.k8s.io/v1beta1/pods"), "a node that is away is not a missing right")

	f.change(func() { f.hanging = "" })
	f.clock.Step(backoff.Longest(maxSilence))
	f.change(func() { f.summaries["n2"] = kubeletSummary("u2", f.clock.Now(), 1e9, 1) })
	f.round(t)
	f.change(func() { f.summaries["n2"] = kubeletSummary("u2", f.clock.Now(), 2e9, 1) })
	f.round(t)
	require.Equal(t, asked+2, f.count("/api/v1/nodes/n2/proxy/stats/summary"), "it is asked as often as before")
	require.EqualValues(t, 2, metrictest.Read(t, f.reader)["flyte.usage.nodes state=answering"])
	f.running = nil
	f.round(t)
	require.Zero(t, metrictest.Read(t, f.reader)["flyte.usage.nodes state=answering"])
}

// TestANodeThatIsGoneIsForgotten: its pods run no more, and nothing is kept of it.
func TestANodeThatIsGoneIsForgotten(t *testing.T) {
	f := newFixture(t)
	f.running = []Pod{{Namespace: "ns", Name: "p", UID: "u1", Node: "n1", Attempt: Attempt{UID: 7, Number: 1}}}
	f.round(t) // 404: the API server has no such node
	require.Len(t, f.meter.sources.silent, 1)
	f.running[0].Node, f.running[0].UID = "n2", "u2"
	f.change(func() { f.summaries["n2"] = kubeletSummary("u2", f.clock.Now(), 1e9, 1) })
	f.round(t)
	require.Empty(t, f.meter.sources.silent)
	require.Len(t, f.meter.pods, 1)
	require.Len(t, f.calls, 1)
}
