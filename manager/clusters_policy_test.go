package manager_test

import (
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/clusters/v1/clustersv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// TestPodsAreJudgedByTheClustersThatMayRunThem: a pod that the API's own policy refuses runs in the cluster that allows it, and one that no
// cluster allows is refused before it is recorded.
func TestPodsAreJudgedByTheClustersThatMayRunThem(t *testing.T) {
	home, east, api := newControlled(t, "default"), newControlled(t, "east"), listenLocally(t)
	shared := testConfig(t)
	shared.Auth.InternalToken, shared.Replicas.Installation, shared.Storage.SigningKey = "internal", "home", strings.Repeat("k", 32)
	config := shared
	config.Target = configuration.TargetAPI
	startPart(t, config, api, nil)
	for _, c := range []*controlled{home, east} {
		config := shared
		config.Target, config.Cluster.ID, config.Database.URL = configuration.TargetController, c.id, ""
		config.ControlPlane.URL = "http://" + api.Addr().String()
		config.Actions.TaskActions.Namespace, config.Executor.Namespaces = c.Namespace, []string{c.Namespace}
		if c == east {
			config.Executor.Pod.Policy.Capabilities = []string{"SYS_PTRACE"}
		}
		startPart(t, config, c.listener, c.Cluster)
	}
	registry := clustersv1connect.NewClusterRegistryServiceClient(h2c(t), "http://"+api.Addr().String())
	require.Eventually(t, func() bool {
		listed, err := registry.ListClusters(t.Context(), &clustersv1.ListClustersRequest{})
		require.NoError(t, err)
		connected := 0
		for _, one := range listed.GetClusters() {
			if one.GetHealth() == clustersv1.ClusterHealth_CLUSTER_HEALTH_CONNECTED {
				connected++
			}
		}
		return connected == 2
	}, time.Minute, 20*time.Millisecond)

	runs := workflowconnect.NewRunServiceClient(h2c(t), "http://"+api.Addr().String(), connect.WithGRPC())
	create := func(name string, spec map[string]any) (*common.RunIdentifier, error) {
		run := &common.RunIdentifier{Project: "flytesnacks", Domain: "development", Name: name}
		traces := map[string]any{"capabilities": map[string]any{"add": []any{"SYS_PTRACE"}}}
		container := map[string]any{"name": "main", "image": "hello:1", "args": []any{"{{.outputPrefix}}"}, "securityContext": traces}
		spec["containers"] = []any{container}
		pod, err := structpb.NewStruct(spec)
		require.NoError(t, err)
		_, err = runs.CreateRun(t.Context(), &workflow.CreateRunRequest{
			Id: &workflow.CreateRunRequest_RunId{RunId: run},
			Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
				Id: &core.Identifier{Project: "flytesnacks", Domain: "development", Name: "hello.main", Version: "1"}, Type: "python",
				Target: &core.TaskTemplate_K8SPod{K8SPod: &core.K8SPod{PodSpec: pod, PrimaryContainerName: "main"}},
			}}},
		})
		return run, err
	}
	var run *common.RunIdentifier
	require.Eventually(t, func() (created bool) { // until the runs service has read that both are there
		var err error
		run, err = create("traced", map[string]any{})
		return err == nil
	}, time.Minute, 50*time.Millisecond)
	require.Eventually(t, func() bool {
		details, err := runs.GetRunDetails(t.Context(), &workflow.GetRunDetailsRequest{RunId: run})
		require.NoError(t, err)
		action := details.GetDetails().GetAction()
		require.NotEqual(t, common.ActionPhase_ACTION_PHASE_FAILED, action.GetStatus().GetPhase(), action.GetErrorInfo().GetMessage())
		return action.GetStatus().GetPhase() == common.ActionPhase_ACTION_PHASE_SUCCEEDED
	}, 2*time.Minute, 50*time.Millisecond)
	require.Equal(t, []int32{0, 1}, []int32{home.ran.Load(), east.ran.Load()})

	_, err := create("refused", map[string]any{"priorityClassName": "high"})
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err))
	require.ErrorContains(t, err, "task_spec.task_template.k8s_pod.pod_spec: no cluster allows it. default: ")
	require.ErrorContains(t, err, ". east: ")
}
