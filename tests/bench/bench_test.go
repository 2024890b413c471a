package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/manager/command"
	"github.com/flyte-binary/flyte-binary/tests/bench/answers"
	"github.com/flyte-binary/flyte-binary/tests/bench/figures"
	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// TestMain makes this binary the server, or an app, when it is started as one, so that the test needs no build.
func TestMain(m *testing.M) {
	if os.Getenv(answers.Env) != "" {
		main()
		return
	}
	if os.Getenv(stack.ServingEnv) != "" {
		if err := command.New().ExecuteContext(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestEveryCaseMeasures runs all cases with small numbers. It checks that they work, not their speed.
func TestEveryCaseMeasures(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the whole product")
	}
	dir, err := os.MkdirTemp("", "bench-") // t.TempDir is closed to the database's user when we are root
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	self, err := os.Executable()
	require.NoError(t, err)
	binaries := os.Getenv("KUBEBUILDER_ASSETS")
	if binaries == "" {
		binaries = filepath.Join("../..", ".bin")
	}
	if _, err := os.Stat(filepath.Join(binaries, "kube-apiserver")); err != nil {
		t.Skip("kube-apiserver is not built: run tools/kube/build.sh")
	}
	python := filepath.Join("../..", ".cache", "e2e-python", "bin", "python")
	if _, err := os.Stat(python); err != nil {
		t.Skip("the Python of the FastAPI app is missing: make e2e-python")
	}
	var out bytes.Buffer
	path := filepath.Join(dir, "results.json")
	require.NoError(t, run(t.Context(), []string{
		"-server", self, "-binaries", binaries, "-python", python, "-dir", dir, "-json", path, "-reuse", "-timeout", "15m", "-quiet", "10ms",
		"-samples", "5", "-creates", "5", "-fanout", "5", "-plain", "5", "-concurrency", "3", "-chain", "5", "-stored", "1000", "-shown", "300", "-memory", "25",
		"-retried", "5", "-cached", "5", "-aborted", "5", "-waiting", "5", "-held", "5", "-heldfor", "1s", "-paused", "5", "-live", "20", "-jobs", "5", "-settle", "1s", "-rayjobs", "5", "-triggers", "5", "-firing", "5", "-within", "1s", "-published", "5", "-notified", "5", "-reused", "5", "-apps", "5", "-requests", "20", "-starts", "1", "-soak", "40", "-soakround", "8", "-cases", "all,fan-out-5-dropped,soak,migrations,replicas",
	}, &out, testWriter{t}))
	body, err := os.ReadFile(path)
	require.NoError(t, err)
	var report figures.Report
	require.NoError(t, json.Unmarshal(body, &report))
	require.Positive(t, report.Machine.SyncsPerSecond)
	require.Contains(t, out.String(), "CreateRun to pod p50")

	measured := map[string]float64{}
	for _, c := range report.Cases {
		require.NotEmpty(t, c.Measures, c.Case)
		for _, m := range c.Measures {
			measured[strings.Replace(c.Case, "fan-out-5", "fan-out-pods", 1)+"/"+m.Name] = m.Value
		}
	}
	for name := range figures.Budgets {
		require.Contains(t, measured, name, "a budget without a measure")
	}
	require.Zero(t, measured["fan-out-pods/extra pods"])
	require.Zero(t, measured["fan-out-retries/extra pods"])
	require.Zero(t, measured["soak/objects left in the API server"])
	require.InDelta(t, 2, measured["fan-out-pods/writes of TaskActions"], 2, "one to create it, one to delete it")
	require.Equal(t, 1.0, measured["fan-out-pods/API writes, POST pods"])
	require.Positive(t, measured["idle/memory of the server"])
}

func TestLatencyTakesTheNearestRank(t *testing.T) {
	var taken []time.Duration
	for i := range 200 {
		taken = append(taken, time.Duration(200-i)*time.Millisecond)
	}
	r := &figures.Result{Case: "none"}
	r.Latency("call", taken)
	require.Equal(t, []figures.Measure{
		{Name: "call p50", Value: 100, Unit: "ms"}, {Name: "call p95", Value: 190, Unit: "ms"}, {Name: "call p99", Value: 198, Unit: "ms"},
	}, r.Measures)
	r.Latency("nothing", nil)
	require.Len(t, r.Measures, 3)
}

func TestWritesAreTakenFromMetrics(t *testing.T) {
	counts, err := stack.ParseRequests([]byte(`# HELP apiserver_request_total x
apiserver_request_total{code="201",group="",resource="pods",subresource="",verb="POST",version="v1"} 7
apiserver_request_total{code="409",group="",resource="pods",subresource="",verb="POST",version="v1"} 1
apiserver_request_total{code="200",group="",resource="pods",subresource="status",verb="PATCH",version="v1"} 2
apiserver_request_total{code="200",group="",resource="pods",subresource="",verb="LIST",version="v1"} 100
apiserver_request_total{code="200",group="flyte.org",resource="taskactions",subresource="",verb="DELETE",version="v1"} 3
other_total{verb="POST"} 9
`))
	require.NoError(t, err)
	written := counts.Since(stack.Requests{"POST pods": 5})
	require.Equal(t, stack.Requests{"POST pods": 3, "PATCH pods/status": 2, "DELETE taskactions": 3}, written)
	require.Equal(t, 5.0, written.Of("pods"))
	require.Equal(t, 8.0, written.Sum())
	_, err = stack.ParseRequests([]byte(`apiserver_request_total{verb="POST"} many`))
	require.ErrorContains(t, err, "many")
}

func TestASumOfAMetric(t *testing.T) {
	body := []byte("# HELP places x\nplaces{of=\"pods\"} 100\nplaces{of=\"jobs }\"} 1.5e2 1700000000\nplaces_total 7\nalone 3\n")
	for name, want := range map[string]float64{"places": 250, "alone": 3} {
		sum, err := stack.SumOf(body, name)
		require.NoError(t, err)
		require.InDelta(t, want, sum, 1e-9, name)
	}
	_, err := stack.SumOf(body, "missing")
	require.ErrorContains(t, err, "missing")
	_, err = stack.SumOf([]byte("places many\n"), "places")
	require.ErrorContains(t, err, "many")
}

func TestOptionsAreChecked(t *testing.T) {
	for _, args := range [][]string{{"-fanout", "0"}, {"-fanout", "5,x"}, {"-samples", "0"}, {"-no-such"}} {
		_, err := parseOptions(args, testWriter{t})
		require.Error(t, err, args)
	}
	o, err := parseOptions([]string{"-fanout", "10,20"}, testWriter{t})
	require.NoError(t, err)
	_, err = choose(cases(o), "create,fan-out-30")
	require.ErrorContains(t, err, "fan-out-30")
	chosen, err := choose(cases(o), "fan-out-20")
	require.NoError(t, err)
	require.Len(t, chosen, 1)
}

func TestFiguresOfThePythonProgram(t *testing.T) {
	cpu := []time.Duration{time.Second, 2 * time.Second, 2500 * time.Millisecond}
	r := &figures.Result{Case: "none"}
	err := takeFigures(strings.NewReader(`{"name": "warm task", "value": 54, "unit": "ms"}
{"began": "10 tasks"}
{"ended": "10 tasks", "tasks": 10}
`), r, func() (time.Duration, error) {
		now := cpu[0]
		cpu = cpu[1:]
		return now, nil
	})
	require.NoError(t, err)
	require.Equal(t, []figures.Measure{
		{Name: "warm task", Value: 54, Unit: "ms"}, {Name: "10 tasks, CPU of the machine for each", Value: 50, Unit: "ms"},
	}, r.Measures)
	require.ErrorContains(t, takeFigures(strings.NewReader("a warning\n"), r, func() (time.Duration, error) { return 0, nil }), "a warning")
}

// testWriter shows progress in the test's log.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimRight(string(p), "\n"))
	return len(p), nil
}
