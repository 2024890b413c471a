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
	start(config, manager.Options{Listener: api})
	url := "http://" + api.Addr().String()

	registry := clustersv1connect.NewClusterRegistryServiceClient(h2c(t), url)
	added, err := registry.AddCluster(t.Context(), &clustersv1.AddClusterRequest{Name: east.id})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "credential")
	write := func(secret string) { require.NoError(t, os.WriteFile(file, []byte(secret+"\n"), 0o600)) }
	write(added.GetSecret())

	config = shared
	config.Target, config.Database.URL = configuration.TargetController, ""
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
	other := examined(func(c *configuration.Config) { c.Cluster.ID = "west" })
	require.Equal(t, connect.CodePermissionDenied, connect.CodeOf(other.Err))
	require.Contains(t, other.Fix, "cluster.id")

	runs := workflowconnect.NewRunServiceClient(h2c(t), url, connect.WithGRPC())
	succeed := func(name string) {
		run := &common.RunIdentifier{Project: "flytesnacks", Domain: "development", Name: name}
		_, err := runs.CreateRun(t.Context(), &workflow.CreateRunRequest{
			Id: &workflow.CreateRunRequest_RunId{RunId: run},
			Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
				Id: &core.Identifier{Project: "flytesnacks", Domain: "development", Name: "hello.main", Version: "1"}, Type: "python",
				Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "hello:1", Args: []string{"{{.outputPrefix}}"}}},
			}}},
		})
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			details, err := runs.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: run})
			require.NoError(t, err)
			return details.GetDetails().GetAction().GetStatus().GetPhase() == common.ActionPhase_ACTION_PHASE_SUCCEEDED
		}, time.Minute, 20*time.Millisecond)
	}
	succeed("first")

	next, err := registry.IssueCredential(t.Context(), &clustersv1.IssueCredentialRequest{Cluster: east.id})
	require.NoError(t, err)
	write(next.GetSecret())
	_, err = registry.RevokeCredential(t.Context(), &clustersv1.RevokeCredentialRequest{Id: added.GetCluster().GetCredentials()[0].GetId()})
	require.NoError(t, err)
	succeed("second")

	_, err = registry.RevokeCredential(t.Context(), &clustersv1.RevokeCredentialRequest{Id: next.GetCredential().GetId()})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return connect.CodeOf(examined(func(*configuration.Config) {}).Err) == connect.CodeUnauthenticated
	}, time.Minute, 50*time.Millisecond)
	require.Contains(t, examined(func(*configuration.Config) {}).Fix, "clusters issue")
}
