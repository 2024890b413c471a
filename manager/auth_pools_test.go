package manager_test

import (
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/names/tasktype"
)

// narrowedPools checks the lists of pools and workers: there is one pool in each of two projects, and the caller may see one project.
func narrowedPools(t *testing.T, url string, root workflowconnect.RunServiceClient, denied func(*testing.T, error)) {
	for _, project := range []string{"mine", "theirs"} {
		_, err := root.CreateRun(t.Context(), &workflow.CreateRunRequest{
			Id: &workflow.CreateRunRequest_RunId{RunId: runOf(project, "pooled")},
			Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{
				Id: &core.Identifier{Project: project, Domain: "development", Name: "pooled.main", Version: "1"}, Type: tasktype.Actor,
				ReusePolicy: &core.ReusePolicy{MinReplicas: 1, MaxReplicas: 1, Concurrency: 1},
				Target:      &core.TaskTemplate_Container{Container: &core.Container{Image: "hello:1"}},
			}}},
		})
		require.NoError(t, err)
	}
	everything := insightv1connect.NewPoolInsightServiceClient(as("root"), url)
	pools := map[string]int64{}
	require.Eventually(t, func() bool {
		all, err := everything.ListPools(t.Context(), &insightv1.ListPoolsRequest{})
		require.NoError(t, err)
		for _, p := range all.GetPools() {
			pools[p.GetProjectId().GetName()] = p.GetId()
		}
		return len(pools) == 2
	}, time.Minute, 20*time.Millisecond)

	ada := insightv1connect.NewPoolInsightServiceClient(as("ada"), url)
	own, err := ada.ListPools(t.Context(), &insightv1.ListPoolsRequest{})
	require.NoError(t, err)
	require.Len(t, own.GetPools(), 1)
	require.Equal(t, pools["mine"], own.GetPools()[0].GetId())
	_, err = ada.ListPools(t.Context(), &insightv1.ListPoolsRequest{ProjectId: &common.ProjectIdentifier{Name: "theirs", Domain: "development"}})
	denied(t, err)

	workersOf := func(project, of string) (*insightv1.ListWorkersResponse, error) {
		return ada.ListWorkers(t.Context(), &insightv1.ListWorkersRequest{
			ProjectId: &common.ProjectIdentifier{Name: project, Domain: "development"}, PoolId: pools[of],
		})
	}
	require.Eventually(t, func() bool {
		workers, err := workersOf("mine", "mine")
		require.NoError(t, err)
		return len(workers.GetWorkers()) == 1
	}, time.Minute, 20*time.Millisecond)
	_, err = workersOf("theirs", "theirs")
	denied(t, err)
	_, err = workersOf("mine", "theirs")
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err), "a pool of another project, as if it did not exist: %v", err)
	_, err = ada.ListWorkers(t.Context(), &insightv1.ListWorkersRequest{PoolId: pools["theirs"]})
	denied(t, err) // before validation: a request that names no project asks for everything
}
