package monitoring_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/internal/obs"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
	"github.com/flyte-binary/flyte-binary/notifications/cloudevents"
)

func TestMain(m *testing.M) {
	pgtest.VerifyMain(m,
		goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"),
		// Clients of the API server keep their connections in a cache of the process.
		goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*clientConnReadLoop).run"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
	)
}

const root = "../.."

// started is a server under test.
type started struct {
	url  string
	made []obs.Instrument
}

func start(t *testing.T, config configuration.Config, cluster *rest.Config) started {
	t.Helper()
	log := zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel)
	server, err := manager.Complete(t.Context(), config, manager.Options{Logger: log, REST: cluster, Version: "test"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	require.NoError(t, server.Start(t.Context()))
	return started{url: "http://" + server.Addr(), made: server.Instruments()}
}

func configured(t *testing.T) configuration.Config {
	t.Helper()
	config := configuration.DefaultConfig()
	config.Server.Listen = "127.0.0.1:0"
	config.Database.URL = pgtest.URL(pgtest.Schemas(t, manager.Schemas()...))
	config.Database.MinIdleConns = 0
	config.Storage.URL = t.TempDir()
	config.Runs.Stored.Measure = true
	return config
}

// everything is a server with all parts that have metrics, and a cluster on which a task has run.
func everything(t *testing.T) started {
	t.Helper()
	cluster := kubetest.New(t)
	config := configured(t)
	config.Actions.TaskActions.Namespace = cluster.Namespace
	config.Executor.Namespaces = []string{cluster.Namespace}
	config.Replicas.Several, config.Replicas.Namespace = true, cluster.Namespace
	config.Storage.SigningKey = strings.Repeat("k", 32)
	config.EventStream.Sinks = []cloudevents.Sink{{Name: "lake", Type: "http", URL: "http://127.0.0.1:1/"}}
	server := start(t, config, cluster.Config)
	kubetest.StartNode(t, cluster, kubetest.NodeOptions{Program: func(_ context.Context, pod *corev1.Pod) kubetest.Result {
		dir := pod.Spec.Containers[0].Args[0]
		if os.MkdirAll(dir, 0o755) != nil || os.WriteFile(filepath.Join(dir, "outputs.pb"), nil, 0o600) != nil {
			return kubetest.Result{ExitCode: 1}
		}
		return kubetest.Result{}
	}})
	runs := workflowconnect.NewRunServiceClient(http.DefaultClient, server.url)
	require.NoError(t, createRun(t.Context(), runs, "conspicuous-run"))
	awaitEnd(t, runs, "conspicuous-run")
	_, err := runs.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: runID("not-there")})
	require.Error(t, err)
	return server
}

func runID(name string) *common.RunIdentifier {
	return &common.RunIdentifier{Project: "flytesnacks", Domain: "development", Name: name}
}

func createRun(ctx context.Context, runs workflowconnect.RunServiceClient, name string) error {
	_, err := runs.CreateRun(ctx, &workflow.CreateRunRequest{
		Id: &workflow.CreateRunRequest_RunId{RunId: runID(name)},
		Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
			Id:   &core.Identifier{Project: "flytesnacks", Domain: "development", Name: "conspicuous.task", Version: "1"},
			Type: "python", Target: &core.TaskTemplate_Container{Container: &core.Container{
				Image: "hello:1", Args: []string{"{{.outputPrefix}}"},
			}},
		}}},
	})
	return err
}

func awaitEnd(t *testing.T, runs workflowconnect.RunServiceClient, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	stream, err := runs.WatchRunDetails(ctx, &workflow.WatchRunDetailsRequest{RunId: runID(name)})
	require.NoError(t, err)
	defer stream.Close() //nolint:errcheck // read as far as needed
	for stream.Receive() {
		if stream.Msg().GetDetails().GetAction().GetStatus().GetPhase() == common.ActionPhase_ACTION_PHASE_SUCCEEDED {
			return
		}
	}
	require.Fail(t, "the run has not succeeded", "%v", stream.Err())
}

// scrape reads /metrics as Prometheus does.
func scrape(t *testing.T, url string) map[string]*dto.MetricFamily {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/metrics", nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, string(body))
	families, err := parse(string(body))
	require.NoError(t, err)
	return families
}

func parse(body string) (map[string]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(strings.NewReader(body))
}
