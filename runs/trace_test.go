package runs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

// A retried parent decides by the first snapshot what it replays: outputs, a final error, or nothing.
func TestTheSnapshotHasTracesAsTheyEnded(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r"))
	c.report(transition("r", "a0", 1, running))
	base := c.storage("r", "a0").GetRunOutputBase()
	began := time.Now().Add(-time.Second).Truncate(time.Microsecond)
	if created := c.details("r", "a0").GetStatus().GetStartTime().AsTime(); began.Before(created) {
		began = created
	}
	for name, kind := range map[string]core.ContainerError_Kind{"final": core.ContainerError_NON_RECOVERABLE, "passing": core.ContainerError_RECOVERABLE} {
		body, err := proto.Marshal(&core.ErrorDocument{Error: &core.ContainerError{Code: "ValueError", Message: name, Kind: kind, Origin: core.ExecutionError_USER}})
		require.NoError(t, err)
		require.NoError(t, c.blobs.WriteAll(t.Context(), base+name+"/error.pb", body))
	}
	for _, name := range []string{"good", "final", "passing", "unexplained"} {
		action := &workflow.TraceAction{
			Name: "step", Phase: failed, Spec: &task.TraceSpec{}, StartTime: timestamppb.New(began), EndTime: timestamppb.New(began.Add(time.Microsecond)),
		}
		if name == "good" {
			action.Phase, action.Outputs = succeeded, &task.OutputReferences{OutputUri: base + "good/outputs.pb"}
		}
		request := &workflow.RecordActionRequest{
			ActionId: actionID("r", name), Parent: "a0", Group: "g", InputUri: base + name + "/inputs.pb",
			Spec: &workflow.RecordActionRequest_Trace{Trace: action},
		}
		for range 2 {
			require.Zero(t, c.record(request))
		}
	}
	c.report(transition("r", "a0", 1, failed), transition("r", "a0", 2, queued))
	snapshot := c.children("r", "a0")
	require.Len(t, snapshot, 4)
	require.Equal(t, succeeded, snapshot["good"].GetPhase())
	require.Equal(t, base+"good/outputs.pb", snapshot["good"].GetOutputUri())
	require.Nil(t, snapshot["good"].GetError())
	for name, kind := range map[string]core.ContainerError_Kind{"final": core.ContainerError_NON_RECOVERABLE, "passing": core.ContainerError_RECOVERABLE} {
		require.Equal(t, failed, snapshot[name].GetPhase())
		require.Equal(t, name, snapshot[name].GetError().GetMessage())
		require.Equal(t, kind, snapshot[name].GetError().GetRecoverability(), name)
	}
	require.Equal(t, failed, snapshot["unexplained"].GetPhase())
	require.Nil(t, snapshot["unexplained"].GetError(), "its function runs again")

	details := c.details("r", "good")
	require.Equal(t, "a0", details.GetMetadata().GetParent())
	require.Equal(t, "g", details.GetMetadata().GetGroup())
	require.Equal(t, "step", details.GetMetadata().GetTrace().GetName())
	require.WithinDuration(t, began, details.GetStatus().GetStartTime().AsTime(), 0)
	require.WithinDuration(t, began.Add(time.Microsecond), details.GetStatus().GetEndTime().AsTime(), 0)
	require.EqualValues(t, 1, details.GetStatus().GetAttempts())
	require.Equal(t, "final", c.details("r", "final").GetErrorInfo().GetMessage())
}
