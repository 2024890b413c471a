package manager_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project/projectconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/kube/kubetest"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// onCluster is testConfig for a namespace of a real API server.
func onCluster(t *testing.T, cluster *kubetest.Cluster) configuration.Config {
	t.Helper()
	config := testConfig(t)
	config.Actions.TaskActions.Namespace = cluster.Namespace
	config.Executor.Namespaces = []string{cluster.Namespace}
	config.Executor.StartupWait = configuration.DefaultConfig().Executor.StartupWait
	return config
}

// TestARunFromEndToEnd goes through every part: the port, runs, admission, actions, the executor, a pod, events and
// a watch.
func TestARunFromEndToEnd(t *testing.T) {
	cluster := kubetest.New(t)
	url := startServer(t, onCluster(t, cluster), cluster.Config)
	endpoint := make(chan string, 1)
	kubetest.StartNode(t, cluster, kubetest.NodeOptions{Program: func(_ context.Context, pod *corev1.Pod) kubetest.Result {
		container := pod.Spec.Containers[0]
		for _, variable := range container.Env {
			if variable.Name == "_U_EP_OVERRIDE" {
				endpoint <- variable.Value
			}
		}
		// The task succeeds without outputs.
		dir := container.Args[0]
		if os.MkdirAll(dir, 0o755) != nil || os.WriteFile(filepath.Join(dir, "outputs.pb"), nil, 0o600) != nil {
			return kubetest.Result{ExitCode: 1}
		}
		return kubetest.Result{}
	}})

	code, _, body := do(t, http.MethodGet, url+"/readyz", nil, nil)
	require.Equal(t, http.StatusOK, code, body)

	runs := workflowconnect.NewRunServiceClient(h2c(t), url, connect.WithGRPC())
	run := &common.RunIdentifier{Project: "flytesnacks", Domain: "development", Name: "hello"}
	_, err := runs.CreateRun(t.Context(), &workflow.CreateRunRequest{
		Id: &workflow.CreateRunRequest_RunId{RunId: run},
		Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
			Id:   &core.Identifier{Project: "flytesnacks", Domain: "development", Name: "hello.main", Version: "1"},
			Type: "python",
			Target: &core.TaskTemplate_Container{Container: &core.Container{
				Image: "hello:1", Args: []string{"{{.outputPrefix}}"},
			}},
		}}},
	})
	require.NoError(t, err)

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream, err := runs.WatchRunDetails(ctx, &workflow.WatchRunDetailsRequest{RunId: run})
	require.NoError(t, err)
	defer stream.Close() //nolint:errcheck // read as far as needed
	var phase common.ActionPhase
	for phase != common.ActionPhase_ACTION_PHASE_SUCCEEDED {
		require.True(t, stream.Receive(), "last phase %s: %v", phase, stream.Err())
		phase = stream.Msg().GetDetails().GetAction().GetStatus().GetPhase()
		require.NotEqual(t, common.ActionPhase_ACTION_PHASE_FAILED, phase, stream.Msg())
	}
	require.Equal(t, "localhost", hostOf(t, <-endpoint))
}

func TestOrderlyStop(t *testing.T) {
	config := testConfig(t)
	server, err := manager.Complete(t.Context(), config, manager.Options{REST: nowhere(t), Logger: zerolog.Nop()})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- server.Run(ctx) }()
	url := "http://" + server.Addr()
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	projects := projectconnect.NewProjectServiceClient(http.DefaultClient, url)
	require.Eventually(t, func() bool {
		_, err := projects.ListProjects(t.Context(), &project.ListProjectsRequest{})
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)

	stream, err := workflowconnect.NewRunServiceClient(http.DefaultClient, url).WatchRuns(t.Context(), &workflow.WatchRunsRequest{
		Target: &workflow.WatchRunsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: "flytesnacks", Domain: "development"}},
	})
	require.NoError(t, err)
	streamed := make(chan error)
	go func() {
		for stream.Receive() {
		}
		streamed <- stream.Err()
	}()

	cancel()
	if err := <-streamed; err != nil { // a stream without a message yet may end cleanly
		require.Equal(t, connect.CodeUnavailable, connect.CodeOf(err), "%v", err)
	}
	require.NoError(t, stream.Close())
	require.NoError(t, <-ended)
	require.NoError(t, server.Stop(t.Context()), "a second stop does nothing")
	_, err = projects.ListProjects(t.Context(), &project.ListProjectsRequest{})
	require.Equal(t, connect.CodeUnavailable, connect.CodeOf(err))
}

func TestFailedStartClosesWhatItOpened(t *testing.T) {
	config := testConfig(t)
	first, err := manager.Complete(t.Context(), config, manager.Options{REST: nowhere(t)})
	require.NoError(t, err)
	address := first.Addr()

	config.Server.Listen = address
	_, err = manager.Complete(t.Context(), config, manager.Options{REST: nowhere(t)})
	require.ErrorContains(t, err, "server.listen")
	require.NoError(t, first.Stop(t.Context()), "a server that was never started closes its port")

	good := config.Database.URL
	config.Database.URL = "postgres://flyte@/flyte?host=" + t.TempDir()
	_, err = manager.Complete(t.Context(), config, manager.Options{REST: nowhere(t)})
	require.ErrorContains(t, err, "connect to ")
	config.Database.URL = good
	again, err := manager.Complete(t.Context(), config, manager.Options{REST: nowhere(t)})
	require.NoError(t, err, "the port is free again")
	require.NoError(t, again.Stop(t.Context()))
}

// Two replicas answer calls, and each creates, runs and deletes the TaskActions of half of the shards; when one stops, the
// other one has all.
func TestReplicasShareTheTaskActions(t *testing.T) {
	cluster := kubetest.New(t)
	config := onCluster(t, cluster)
	config.Replicas.Several, config.Replicas.Namespace, config.Replicas.Lease.Duration = true, cluster.Namespace, 3*time.Second
	config.Storage.SigningKey = strings.Repeat("k", 32)
	kubetest.StartNode(t, cluster, kubetest.NodeOptions{Program: func(_ context.Context, pod *corev1.Pod) kubetest.Result {
		dir := pod.Spec.Containers[0].Args[0]
		if os.MkdirAll(dir, 0o755) != nil || os.WriteFile(filepath.Join(dir, "outputs.pb"), nil, 0o600) != nil {
			return kubetest.Result{ExitCode: 1}
		}
		return kubetest.Result{}
	}})
	replica := func() (string, *manager.Server) {
		log := zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel)
		server, err := manager.Complete(t.Context(), config, manager.Options{Logger: log, REST: cluster.Config})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
		require.NoError(t, server.Start(t.Context()))
		return "http://" + server.Addr(), server
	}
	owned := func(url string) string {
		_, _, body := do(t, http.MethodGet, url+"/metrics", nil, nil)
		found := regexp.MustCompile(`(?m)^flyte_controller_shards.* (\d+)$`).FindStringSubmatch(body)
		require.NotNil(t, found)
		return found[1]
	}
	eventuallyOwns := func(url, want string) {
		t.Helper()
		require.Eventually(t, func() bool { return owned(url) == want }, time.Minute, 10*time.Millisecond)
	}
	old, first := replica()
	eventuallyOwns(old, "16")
	url, _ := replica()
	eventuallyOwns(old, "8")
	eventuallyOwns(url, "8")
	runs := workflowconnect.NewRunServiceClient(h2c(t), url, connect.WithGRPC())
	succeeds := func(name string) {
		run := &common.RunIdentifier{Project: "flytesnacks", Domain: "development", Name: name}
		_, err := runs.CreateRun(t.Context(), &workflow.CreateRunRequest{
			Id: &workflow.CreateRunRequest_RunId{RunId: run},
			Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
				Id:     &core.Identifier{Project: "flytesnacks", Domain: "development", Name: "hello.main", Version: "1"},
				Type:   "python",
				Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "hello:1", Args: []string{"{{.outputPrefix}}"}}},
			}}},
		})
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			details, err := runs.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: run})
			require.NoError(t, err)
			return details.GetDetails().GetAction().GetStatus().GetPhase() == common.ActionPhase_ACTION_PHASE_SUCCEEDED
		}, time.Minute, 20*time.Millisecond)
		require.Eventually(t, func() bool {
			var left v1.TaskActionList
			require.NoError(t, cluster.Client.List(t.Context(), &left, client.InNamespace(cluster.Namespace)))
			return len(left.Items) == 0
		}, time.Minute, 20*time.Millisecond)
	}
	for i := range 6 { // of both
		succeeds(fmt.Sprint("shared", i))
	}
	require.NoError(t, first.Stop(t.Context()))
	succeeds("alone")
	eventuallyOwns(url, "16")
}
