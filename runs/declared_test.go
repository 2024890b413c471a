package runs_test

import (
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/tasktype"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

func sparkSpec() *task.TaskSpec {
	spec := taskSpec("main")
	spec.TaskTemplate.Type = "spark"
	return spec
}

// TestATypeThatNobodyServesIsRefused: wherever it is submitted, also by a task that an earlier version deployed.
func TestATypeThatNobodyServesIsRefused(t *testing.T) {
	c := newWriteFixture(t, nil)
	words := (tasktype.Set{}).Refusal(sparkSpec().GetTaskTemplate())
	refused := func(err error, field string) {
		t.Helper()
		require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, field)
		require.ErrorContains(t, err, words)
	}
	request := namedRun("r")
	request.Task = &workflow.CreateRunRequest_TaskSpec{TaskSpec: sparkSpec()}
	_, err := c.runs.CreateRun(t.Context(), request)
	refused(err, "task_spec.task_template.type: ")

	digest, body, err := schema.EncodeSpec(schema.SpecTask, sparkSpec())
	require.NoError(t, err)
	deployed := &catalog.Task{Project: "flytesnacks", Domain: "development", Name: "env.old", Version: "v1", TaskType: "spark", DeployedBy: []byte{}}
	require.NoError(t, catalog.NewTaskWriter(c.pool).Deploy(t.Context(), deployed, digest, body))
	request.Task = &workflow.CreateRunRequest_TaskId{
		TaskId: &task.TaskIdentifier{Project: "flytesnacks", Domain: "development", Name: "env.old", Version: "v1"},
	}
	_, err = c.runs.CreateRun(t.Context(), request)
	refused(err, "task_id: the deployed task env.old cannot run: task_template.type: ")

	c.create(namedRun("r"))
	child := childTask("r", "a0", "c")
	child.GetTask().Spec = sparkSpec()
	response, err := c.internal.RecordAction(t.Context(), child)
	require.NoError(t, err)
	require.EqualValues(t, connect.CodeInvalidArgument, response.GetStatus().GetCode())
	require.Contains(t, response.GetStatus().GetMessage(), words)
}

// TestWhatIsNotHonouredIsNotedOnTheAction: what the run and the task declare is among the events of the root's first
// attempt, in the details and in the stream that the console shows.
func TestWhatIsNotHonouredIsNotedOnTheAction(t *testing.T) {
	c := newWriteFixture(t, nil)
	request := namedRun("r")
	request.RunSpec = &task.RunSpec{ClusterPool: "gpu"}
	request.GetTaskSpec().TaskTemplate.Metadata = &core.TaskMetadata{DeprecatedErrorMessage: "use another"}
	c.create(request)

	messages := func(events []*workflow.ClusterEvent) (all []string) {
		for _, event := range events {
			if event.GetReason() == "NotHonoured" {
				require.Equal(t, workflow.ClusterEvent_TYPE_WARNING, event.GetType())
				all = append(all, event.GetMessage())
			}
		}
		return all
	}
	want := []string{
		"task_template.metadata.deprecated_error_message: the author of the task says here why it should no longer be used",
		"cluster_pool: no cluster of this server is in a pool",
	}
	require.Equal(t, want, messages(c.details("r", "a0").GetAttempts()[0].GetClusterEvents()))
	require.Equal(t, common.ActionPhase_ACTION_PHASE_QUEUED, c.phase("r", "a0"))

	stream, err := c.runs.WatchClusterEvents(t.Context(), &workflow.WatchClusterEventsRequest{Id: actionID("r", "a0"), Attempt: 1})
	require.NoError(t, err)
	require.True(t, stream.Receive(), "%v", stream.Err())
	require.Equal(t, want, messages(stream.Msg().GetClusterEvents()))
	require.NoError(t, stream.Close())
}

// TestAnItemWithABadNameFailsAlone: other items of the same stream are recorded.
func TestAnItemWithABadNameFailsAlone(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r"))
	stream, err := c.internal.RecordActionStream(t.Context())
	require.NoError(t, err)
	for name, want := range map[string]connect.Code{"good": 0, "../x": connect.CodeInvalidArgument, "b": 0} {
		require.NoError(t, stream.Send(&workflow.RecordActionStreamRequest{Request: childTask("r", "a0", name)}))
		answer, err := stream.Receive()
		require.NoError(t, err)
		require.Equal(t, want, connect.Code(answer.GetResponse().GetStatus().GetCode()), name)
	}
	require.NoError(t, stream.CloseRequest())
	require.NoError(t, stream.CloseResponse())
}
