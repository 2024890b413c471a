package manager_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1/clustersv1connect"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// TestWorkWaitsForTheFirstCluster: what is created when a cluster is registered and has not connected yet waits for it. It does not go to
// the default cluster, which does not exist here.
func TestWorkWaitsForTheFirstCluster(t *testing.T) {
	east, api := newControlled(t, "east"), listenLocally(t)
	shared := testConfig(t)
	shared.Auth.InternalToken, shared.Replicas.Installation, shared.Storage.SigningKey = "internal", "home", strings.Repeat("k", 32)
	config := shared
	config.Target = configuration.TargetAPI
	startPart(t, config, api, nil)
	url := "http://" + api.Addr().String()
	_, err := clustersv1connect.NewClusterRegistryServiceClient(h2c(t), url).AddCluster(t.Context(), &clustersv1.AddClusterRequest{Name: "east"})
	require.NoError(t, err)

	runs := workflowconnect.NewRunServiceClient(h2c(t), url, connect.WithGRPC())
	explain := insightv1connect.NewInsightServiceClient(h2c(t), url)
	var run *common.RunIdentifier
	tried := 0
	require.Eventually(t, func() bool { // until the runs service has read that the cluster is registered
		tried++
		run = &common.RunIdentifier{Project: "flytesnacks", Domain: "development", Name: fmt.Sprint("early-", tried)}
		_, err := runs.CreateRun(t.Context(), &workflow.CreateRunRequest{
			Id: &workflow.CreateRunRequest_RunId{RunId: run},
			Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
				Id: &core.Identifier{Project: "flytesnacks", Domain: "development", Name: "hello.main", Version: "1"}, Type: "python",
				Target: &core.TaskTemplate_Container{Container: &core.Container{Image: "hello:1", Args: []string{"{{.outputPrefix}}"}}},
			}}},
		})
		require.NoError(t, err)
		answer, err := explain.ExplainAction(t.Context(), &insightv1.ExplainActionRequest{ActionId: &common.ActionIdentifier{Run: run, Name: "a0"}})
		require.NoError(t, err)
		return strings.Contains(answer.String(), "east")
	}, time.Minute, 200*time.Millisecond)

	config = shared
	config.Target, config.Cluster.ID, config.Database.URL = configuration.TargetController, east.id, ""
	config.ControlPlane.URL = url
	config.Actions.TaskActions.Namespace, config.Executor.Namespaces = east.Namespace, []string{east.Namespace}
	startPart(t, config, east.listener, east.Cluster)
	require.Eventually(t, func() bool {
		details, err := runs.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: run})
		require.NoError(t, err)
		return details.GetDetails().GetAction().GetStatus().GetPhase() == common.ActionPhase_ACTION_PHASE_SUCCEEDED
	}, 2*time.Minute, 50*time.Millisecond)
}
