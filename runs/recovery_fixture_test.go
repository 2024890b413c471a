package runs_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
)

const (
	recovered = common.ActionPhase_ACTION_PHASE_RECOVERED
	rerun     = common.RelationType_RELATION_TYPE_RERUN
	recover_  = common.RelationType_RELATION_TYPE_RECOVER
)

// producing is a task that has an output.
func producing(name string) *task.TaskSpec {
	spec := taskSpec(name)
	spec.TaskTemplate.Interface = &core.TypedInterface{Outputs: &core.VariableMap{
		Variables: []*core.VariableEntry{{Key: "o0", Value: &core.Variable{}}},
	}}
	return spec
}

func runOf(name string) *workflow.CreateRunRequest {
	request := namedRun(name)
	request.Task = &workflow.CreateRunRequest_TaskSpec{TaskSpec: producing("main")}
	return request
}

func related(name string, kind common.RelationType, source string, force ...string) *workflow.CreateRunRequest {
	request := runOf(name)
	request.RunSpec = &task.RunSpec{Relation: &common.Relation{RelatedTo: runID(source), RelationType: kind}}
	if len(force) > 0 {
		request.RunSpec.Recover = &task.Recover{ForceRerunActions: force}
	}
	return request
}

func (c *writeFixture) call(run, parent, name string) {
	c.t.Helper()
	request := childTask(run, parent, name)
	request.Spec = &workflow.RecordActionRequest_Task{Task: &workflow.TaskAction{Spec: producing("child")}}
	require.Zero(c.t, c.record(request))
}

// succeed completes an action with outputs that name the action that made them.
func (c *writeFixture) succeed(run, name string) {
	c.t.Helper()
	dir := blobpath.AttemptDir(c.storage(run, name).GetRunOutputBase(), name, 1)
	require.NoError(c.t, c.blobs.WriteAll(c.t.Context(), dir+"/outputs.pb", []byte(run+"/"+name)))
	c.report(transition(run, name, 1, succeeded))
}

func (c *writeFixture) trace(run, parent, name string, phase common.ActionPhase) {
	c.t.Helper()
	base := c.storage(run, "a0").GetRunOutputBase()
	action := &workflow.TraceAction{
		Name: "step", Phase: phase, Spec: &task.TraceSpec{}, StartTime: timestamppb.Now(), EndTime: timestamppb.Now(),
	}
	if phase == succeeded {
		uri := base + name + "/outputs.pb"
		require.NoError(c.t, c.blobs.WriteAll(c.t.Context(), uri, []byte(run+"/"+name)))
		action.Outputs = &task.OutputReferences{OutputUri: uri}
	}
	require.Zero(c.t, c.record(&workflow.RecordActionRequest{
		ActionId: actionID(run, name), Parent: parent, Group: "g", Spec: &workflow.RecordActionRequest_Trace{Trace: action},
	}))
}

// outputs reads the result of an action.
func (c *writeFixture) outputs(run, name string) string {
	c.t.Helper()
	response, err := c.runs.GetActionDataURIs(c.t.Context(), &workflow.GetActionDataURIsRequest{ActionId: actionID(run, name)})
	require.NoError(c.t, err)
	body, err := c.blobs.ReadAll(c.t.Context(), response.GetOutputsUri(), 1<<20)
	require.NoError(c.t, err)
	return string(body)
}

// children reads the first snapshot of a parent's watch.
func (c *writeFixture) children(run, parent string) map[string]*workflow.ActionUpdate {
	c.t.Helper()
	stream, err := c.engine.WatchChildren(c.t.Context(), &enginev1.WatchChildrenRequest{Parent: actionID(run, parent)})
	require.NoError(c.t, err)
	defer func() { _ = stream.Close() }()
	found := map[string]*workflow.ActionUpdate{}
	for stream.Receive() {
		update := stream.Msg().GetMessage().GetActionUpdate()
		if update == nil {
			break
		}
		found[update.GetActionId().GetName()] = update
	}
	require.NoError(c.t, stream.Err())
	return found
}

// failedRun is a run with a finished child, one that failed, a finished subtree, traces and a condition.
func failedRun(t *testing.T) *writeFixture {
	t.Helper()
	c := newWriteFixture(t, nil)
	c.create(runOf("source"))
	c.call("source", "a0", "good")
	c.call("source", "a0", "bad")
	c.call("source", "a0", "mid")
	c.call("source", "mid", "leaf")
	c.trace("source", "a0", "step", succeeded)
	c.trace("source", "a0", "oops", failed)
	c.trace("source", "bad", "inner", succeeded)
	require.Zero(t, c.record(condition("source", "approve", core.SimpleType_STRING)))
	_, err := c.runs.SignalEvent(t.Context(), &workflow.SignalEventRequest{
		ActionId: actionID("source", "approve"), Payload: &workflow.EventPayload{Value: &workflow.EventPayload_StringValue{StringValue: "yes"}},
	})
	require.NoError(t, err)
	for _, name := range []string{"good", "leaf", "mid"} {
		c.succeed("source", name)
	}
	c.report(transition("source", "bad", 1, failed), transition("source", "a0", 1, failed))
	return c
}
