package manager_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	clustersv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1/clustersv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy/dataproxyconnect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// TestAControllerWithACredentialOfItsOwn runs a controller that has nothing but the credential of its cluster, and replaces the
// credential while it works. Nothing is open on the controller, and the API knows no address of it.
func TestAControllerWithACredentialOfItsOwn(t *testing.T) {
	east, api := newControlled(t, "default"), listenLocally(t)
	start := func(config configuration.Config, options manager.Options) {
		options.Logger = zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel)
		server, err := manager.Complete(t.Context(), config, options)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, server.Stop(context.WithoutCancel(t.Context()))) })
		require.NoError(t, server.Start(t.Context()))
	}
	shared := testConfig(t)
	shared.Replicas.Installation, shared.Storage.SigningKey = "home", strings.Repeat("k", 32)
	config := shared
	config.Target = configuration.TargetAPI
	start(config, manager.Options{Listener: api, Version: "1.4.0"})
	url := "http://" + api.Addr().String()

	registry := clustersv1connect.NewClusterRegistryServiceClient(h2c(t), url)
	added, err := registry.AddCluster(t.Context(), &clustersv1.AddClusterRequest{Name: east.id})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "credential")
	write := func(secret string) { require.NoError(t, os.WriteFile(file, []byte(secret+"\n"), 0o600)) }
	write(added.GetSecret())

	config = shared
	config.Target, config.Database.URL, config.Cluster.Labels = configuration.TargetController, "", []string{"region=here"}
	config.ControlPlane = configuration.ControlPlaneConfig{URL: url, CredentialFile: file}
	config.Actions.TaskActions.Namespace, config.Executor.Namespaces = east.Namespace, []string{east.Namespace}
	start(config, manager.Options{Listener: east.listener, REST: east.Config})

	examined := func(change func(*configuration.Config)) manager.Finding {
		changed := config
		change(&changed)
		findings := manager.Examine(t.Context(), changed, east.Config)
		require.Equal(t, "control plane", findings[0].What)
		return findings[0]
	}
	require.NoError(t, examined(func(*configuration.Config) {}).Err)
	var what []string
	for _, finding := range append(manager.Examine(t.Context(), config, east.Config), manager.ExamineVersion(t.Context(), config, "1.5.3")...) {
		require.NoError(t, finding.Err, finding.What)
		what = append(what, finding.What)
	}
	require.Subset(t, what, []string{"control plane", "link", "clock", "API server", "rights", "storage", "version"})
	apart := manager.ExamineVersion(t.Context(), config, "1.6.0")
	require.ErrorContains(t, apart[0].Err, "this program is of version 1.6.0, and the API of version 1.4.0")
	require.Contains(t, apart[0].Fix, "the API refuses the link")
	unreadable := examined(func(c *configuration.Config) { c.ControlPlane.CredentialFile += ".missing" })
	require.Contains(t, unreadable.Fix, "clusters issue default")
	other := examined(func(c *configuration.Config) { c.Cluster.ID = "west" })
	require.Equal(t, connect.CodePermissionDenied, connect.CodeOf(other.Err))
	require.Contains(t, other.Fix, "cluster.id")

	runs := workflowconnect.NewRunServiceClient(h2c(t), url, connect.WithGRPC())
	create := func(name, image string) *common.RunIdentifier {
		run := &common.RunIdentifier{Project: "flytesnacks", Domain: "development", Name: name}
		_, err := runs.CreateRun(t.Context(), &workflow.CreateRunRequest{
			Id: &workflow.CreateRunRequest_RunId{RunId: run},
			Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
				Id: &core.Identifier{Project: "flytesnacks", Domain: "development", Name: "hello.main", Version: "1"}, Type: "python",
				Target: &core.TaskTemplate_Container{Container: &core.Container{Image: image, Args: []string{"{{.outputPrefix}}"}}},
			}}},
		})
		require.NoError(t, err)
		return run
	}
	succeeds := func(run *common.RunIdentifier) {
		require.Eventually(t, func() bool {
			details, err := runs.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: run})
			require.NoError(t, err)
			return details.GetDetails().GetAction().GetStatus().GetPhase() == common.ActionPhase_ACTION_PHASE_SUCCEEDED
		}, time.Minute, 20*time.Millisecond)
	}
	succeeds(create("first", "hello:1"))

	// The link: the API knows what the controller can run, and reads the log of a pod that runs, without an address of the controller.
	listed, err := registry.ListClusters(t.Context(), &clustersv1.ListClustersRequest{})
	require.NoError(t, err)
	require.Len(t, listed.GetClusters(), 1)
	require.Equal(t, clustersv1.ClusterHealth_CLUSTER_HEALTH_CONNECTED, listed.GetClusters()[0].GetHealth())
	require.Equal(t, []string{"pod"}, listed.GetClusters()[0].GetPlugins())
	require.Equal(t, map[string]string{"region": "here"}, listed.GetClusters()[0].GetLabels())
	held := create("held", "held:1")
	require.Eventually(t, func() bool { return strings.HasPrefix(firstLine(t, url, held), "this is held-a0-") }, time.Minute, 100*time.Millisecond)
	close(east.release)
	succeeds(held)

	next, err := registry.IssueCredential(t.Context(), &clustersv1.IssueCredentialRequest{Cluster: east.id})
	require.NoError(t, err)
	write(next.GetSecret())
	_, err = registry.RevokeCredential(t.Context(), &clustersv1.RevokeCredentialRequest{Id: added.GetCluster().GetCredentials()[0].GetId()})
	require.NoError(t, err)
	succeeds(create("second", "hello:1"))

	_, err = registry.RevokeCredential(t.Context(), &clustersv1.RevokeCredentialRequest{Id: next.GetCredential().GetId()})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return connect.CodeOf(examined(func(*configuration.Config) {}).Err) == connect.CodeUnauthenticated
	}, time.Minute, 50*time.Millisecond)
	require.Contains(t, examined(func(*configuration.Config) {}).Fix, "clusters issue")
}

// firstLine is the first line of the log of a run; empty while there is none.
func firstLine(t *testing.T, url string, run *common.RunIdentifier) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	log, err := dataproxyconnect.NewDataProxyServiceClient(h2c(t), url).TailLogs(ctx, &dataproxy.TailLogsRequest{
		ActionId: &common.ActionIdentifier{Run: run, Name: "a0"}, Attempt: 1,
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	for log.Receive() {
		for _, part := range log.Msg().GetLogs() {
			return part.GetLines()[0].GetMessage()
		}
	}
	return ""
}
