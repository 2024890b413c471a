package manager_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// awaitLine waits until a line of /readyz begins with a text, and returns the status.
func awaitLine(t *testing.T, url, text string) int {
	t.Helper()
	var code int
	var body string
	require.Eventually(t, func() bool {
		code, _, body = do(t, http.MethodGet, url+"/readyz", nil, nil)
		return strings.Contains("\n"+body, "\n"+text)
	}, time.Minute, 10*time.Millisecond, "%s in %s", text, body)
	return code
}

// requireMetric waits for a line of the metrics: gauges of the last minute change while the test runs.
func requireMetric(t *testing.T, url, pattern string) {
	t.Helper()
	line := regexp.MustCompile("(?m)^" + pattern)
	body := ""
	require.Eventually(t, func() bool {
		_, _, body = do(t, http.MethodGet, url+"/metrics", nil, nil)
		return line.MatchString(body)
	}, time.Minute, 10*time.Millisecond, "%s in %s", pattern, body)
}

// component is one component as GetSystem shows it.
func component(t *testing.T, url, name string) *insightv1.Component {
	t.Helper()
	answer, err := insightv1connect.NewSystemServiceClient(http.DefaultClient, url).GetSystem(t.Context(), &insightv1.GetSystemRequest{})
	require.NoError(t, err)
	for _, one := range answer.GetComponents() {
		if one.GetName() == name {
			return one
		}
	}
	require.Failf(t, "no such component", "%s in %v", name, answer.GetComponents())
	return nil
}

func apiConfig(t *testing.T) configuration.Config {
	config := testConfig(t)
	config.Target = configuration.TargetAPI
	return config
}

// Readiness was ok while nothing could be written.
func TestAStalledWriterIsSeen(t *testing.T) {
	config := apiConfig(t)
	config.Health.OldestWrite = time.Millisecond
	config.Runs.Backlog.WaitingRuns = 0 // CreateRun would wait for its count, not for its write
	url := startServer(t, config, nil)
	require.Equal(t, http.StatusOK, awaitLine(t, url, "writes: ok"))

	other, err := pgx.Connect(t.Context(), config.Database.URL)
	require.NoError(t, err)
	defer other.Close(context.Background()) //nolint:errcheck // the test is over
	_, err = other.Exec(t.Context(), "BEGIN; LOCK TABLE actions IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	runs := workflowconnect.NewRunServiceClient(http.DefaultClient, url)
	created := make(chan error, 1)
	go func() { created <- createRun(t, runs, runOf("flytesnacks", "late")) }()
	require.Equal(t, http.StatusOK, awaitLine(t, url, "writes: degraded: the oldest change has waited"), "it still answers")
	requireMetric(t, url, `flyte_component_degraded\{component="writes".*\} 1$`)
	one := component(t, url, "writes")
	require.True(t, one.GetDegraded())
	require.True(t, one.GetHealthy())
	require.Contains(t, one.GetMessage(), "health.oldestWrite")

	_, err = other.Exec(t.Context(), "ROLLBACK")
	require.NoError(t, err)
	require.NoError(t, <-created)
	require.Equal(t, http.StatusOK, awaitLine(t, url, "writes: ok"))
}

func TestAStoreThatTakesNoWritesIsSeen(t *testing.T) {
	config := apiConfig(t)
	config.Health.WriteProbe = time.Millisecond
	url := startServer(t, config, nil)
	awaitLine(t, url, "storage writes: ok")
	require.NoError(t, os.RemoveAll(config.Storage.URL))
	require.Equal(t, http.StatusOK, awaitLine(t, url, "storage writes: degraded: storage: "))
	requireMetric(t, url, `flyte_component_degraded\{component="storage writes".*\} 1$`)
}

func TestADiskThatFillsUpIsSeen(t *testing.T) {
	config := apiConfig(t)
	config.Health.MinFreeBytes = 1 << 62
	url := startServer(t, config, nil)
	require.Equal(t, http.StatusOK, awaitLine(t, url, "disk: degraded: "))
	require.True(t, component(t, url, "disk").GetDegraded())
	requireMetric(t, url, "flyte_storage_free_bytes")
	findings := manager.Examine(t.Context(), config, nil)
	last := findings[len(findings)-1]
	require.Equal(t, "disk", last.What)
	require.ErrorContains(t, last.Err, "health.minFreeBytes")
}

// Readiness was ok while the oldest action had waited for 20 minutes. Here no controller begins with an admitted one.
func TestActionsThatDoNotStartAreSeen(t *testing.T) {
	config := apiConfig(t)
	config.Health.OldestStart = time.Millisecond
	url := startServer(t, config, nil)
	require.Equal(t, http.StatusOK, awaitLine(t, url, "starts: ok"))
	requireMetric(t, url, "flyte_starts_oldest_seconds 0$")
	runs := workflowconnect.NewRunServiceClient(http.DefaultClient, url)
	require.NoError(t, createRun(t, runs, runOf("flytesnacks", "late")))
	require.Eventually(t, func() bool { // the check looks again after a while
		_, _, body := do(t, http.MethodGet, url+"/metrics", nil, nil)
		return regexp.MustCompile(`(?m)^flyte_starts_oldest_seconds(\{.*\})? 0?\.?0*[1-9]`).MatchString(body)
	}, time.Minute, 10*time.Millisecond)
	require.Equal(t, http.StatusOK, awaitLine(t, url, "starts: degraded: the oldest admitted action has waited"), "another replica would be no better")
	requireMetric(t, url, `flyte_component_degraded\{component="starts".*\} 1$`)
}

// Readiness was ok while most calls to the API server ran into their deadlines: it was asked for its version alone.
func TestASlowClusterIsSeen(t *testing.T) {
	cluster := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			_, _ = io.WriteString(w, `{"gitVersion": "v1.36.3"}`)
			return
		}
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	t.Cleanup(cluster.Close)
	url := startServer(t, testConfig(t), &rest.Config{Host: cluster.URL})
	require.Equal(t, http.StatusOK, awaitLine(t, url, "kubernetes: ok"))
	require.Equal(t, http.StatusOK, awaitLine(t, url, "kubernetes calls: degraded: "), "calls of users still work")
	requireMetric(t, url, `flyte_component_degraded\{component="kubernetes calls".*\} 1$`)
	requireMetric(t, url, `flyte_kubernetes_calls_late(\{.*\})? (1|0\.[2-9])`)
	requireMetric(t, url, "flyte_admission_limit")
}

// Readiness was ok while all reconciles hung in reads.
func TestStuckReconcilesAreSeen(t *testing.T) {
	ended := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/error.pb") {
			select {
			case <-ended:
			case <-r.Context().Done():
			}
		}
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer silent.Close()
	defer close(ended)
	cluster := kubetest.New(t)
	config := onCluster(t, cluster)
	config.Storage.URL, config.Storage.S3.Endpoint = "s3://bucket/store", silent.URL
	config.Storage.S3.AccessKeyID, config.Storage.S3.SecretAccessKey = "flyte", "flyteflyte"
	config.Executor.Reconciler.SlowAfter = time.Second
	url := startServer(t, config, cluster.Config)
	kubetest.StartNode(t, cluster, kubetest.NodeOptions{SkipRunning: true})
	runs := workflowconnect.NewRunServiceClient(http.DefaultClient, url)
	require.NoError(t, createRun(t, runs, runOf("flytesnacks", "stuck")))
	awaitLine(t, url, "executor: degraded: the reconcile of flytesnacks/development/stuck/a0 has run for ")
	requireMetric(t, url, "flyte_reconcile_longest_seconds")
	code, _, _ := do(t, http.MethodGet, url+"/healthz", nil, nil)
	require.Equal(t, http.StatusOK, code, "it recovers by itself")
}
