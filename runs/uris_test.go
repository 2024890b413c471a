package runs_test

import (
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

// A run, its children and its reports cannot be made to show the data of another project, on the real store.
func TestARunShowsNoDataOfOtherProjects(t *testing.T) {
	c := newWriteFixture(t, nil)
	secret := c.blobs.Root() + "/elsewhere/development/run/inputs"
	require.NoError(t, c.blobs.WriteAll(t.Context(), secret+"/inputs.pb", nil))
	request := namedRun("thief")
	request.InputWrapper = &workflow.CreateRunRequest_OffloadedInputData{OffloadedInputData: &common.OffloadedInputData{Uri: secret, InputsHash: "h"}}
	_, err := c.runs.CreateRun(t.Context(), request)
	refused(t, err, connect.CodeInvalidArgument, "offloaded_input_data.uri")

	c.create(namedRun("r"))
	child := childTask("r", "a0", "c")
	child.InputUri = secret
	require.Equal(t, connect.CodeInvalidArgument, c.record(child))
	child.InputUri = c.storage("r", "a0").GetRunOutputBase() + "c/inputs.pb"
	require.Zero(t, c.record(child))

	for _, outputs := range []*task.OutputReferences{
		{OutputUri: secret + "/outputs.pb"}, {ReportUri: secret + "/report.html"},
		{OutputUri: c.storage("r", "a0").GetRunOutputBase() + "../../elsewhere/outputs.pb"},
	} {
		done := transition("r", "c", 1, common.ActionPhase_ACTION_PHASE_SUCCEEDED)
		done.Event.Outputs = outputs
		_, err := c.engine.RecordTransitions(t.Context(), &enginev1.RecordTransitionsRequest{Transitions: []*enginev1.Transition{done}})
		refused(t, err, connect.CodeInvalidArgument, "event.outputs")
	}
	require.NotEqual(t, common.ActionPhase_ACTION_PHASE_SUCCEEDED, c.phase("r", "c"))
}
