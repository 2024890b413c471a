package runs_test

import (
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

const (
	queued    = common.ActionPhase_ACTION_PHASE_QUEUED
	running   = common.ActionPhase_ACTION_PHASE_RUNNING
	succeeded = common.ActionPhase_ACTION_PHASE_SUCCEEDED
	failed    = common.ActionPhase_ACTION_PHASE_FAILED
	aborted   = common.ActionPhase_ACTION_PHASE_ABORTED
	paused    = common.ActionPhase_ACTION_PHASE_PAUSED
)

func TestRecordActionAnswersInItsBody(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r"))
	require.Equal(t, connect.CodeNotFound, c.record(childTask("none", "a0", "c")))
	require.Equal(t, connect.CodeNotFound, c.record(childTask("r", "none", "c")))
	require.Equal(t, connect.CodeInvalidArgument, c.record(childTask("r", "a0", "a0")))
	require.Equal(t, connect.CodeInvalidArgument, c.record(childTask("r", "", "c")))
	c.child("r", "a0", strings.Repeat("c", 30))

	var wg sync.WaitGroup
	for range 500 {
		wg.Go(func() { c.child("r", "a0", "same") })
	}
	wg.Wait()
	details := c.details("r", "same")
	require.Equal(t, "a0", details.GetMetadata().GetParent())
	require.Equal(t, "env.child", details.GetMetadata().GetTask().GetId().GetName())
	require.Equal(t, queued, details.GetStatus().GetPhase())

	_, err := c.runs.AbortRun(t.Context(), &workflow.AbortRunRequest{RunId: runID("r")})
	require.NoError(t, err)
	require.Equal(t, connect.CodeAborted, c.record(childTask("r", "a0", "late")))
	require.Equal(t, aborted, c.phase("r", "same"))
	require.Equal(t, "aborted on request", c.details("r", "same").GetAbortInfo().GetReason())
}

func TestAbortAnswers(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r"))
	c.child("r", "a0", "c")
	c.report(transition("r", "c", 1, succeeded))
	_, err := c.runs.AbortAction(t.Context(), &workflow.AbortActionRequest{ActionId: actionID("r", "c"), Reason: "late"})
	require.NoError(t, err, "it has ended")
	require.Equal(t, succeeded, c.phase("r", "c"))
	_, err = c.runs.AbortAction(t.Context(), &workflow.AbortActionRequest{ActionId: actionID("r", "none")})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
	_, err = c.runs.AbortRun(t.Context(), &workflow.AbortRunRequest{RunId: runID("none")})
	require.Equal(t, connect.CodeNotFound, connect.CodeOf(err))
	reason := "enough"
	_, err = c.runs.AbortRun(t.Context(), &workflow.AbortRunRequest{RunId: runID("r"), Reason: &reason})
	require.NoError(t, err)
	require.Equal(t, "enough", c.details("r", "a0").GetAbortInfo().GetReason())
}

func TestTransitionsBecomeDetails(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r"))
	c.child("r", "a0", "c")
	lost := transition("r", "c", 1, failed)
	lost.Error = &core.ExecutionError{Code: "OOMKilled", Message: "out of memory", Kind: core.ExecutionError_USER}
	done := transition("r", "c", 2, succeeded)
	attempt := c.storage("r", "c").GetRunOutputBase() + "c/2"
	done.Event.Outputs = &task.OutputReferences{OutputUri: attempt + "/outputs.pb", ReportUri: attempt + "/report.html"}
	require.Equal(t, []enginev1.TransitionOutcome{
		enginev1.TransitionOutcome_TRANSITION_OUTCOME_APPLIED,
		enginev1.TransitionOutcome_TRANSITION_OUTCOME_APPLIED,
		enginev1.TransitionOutcome_TRANSITION_OUTCOME_APPLIED,
		enginev1.TransitionOutcome_TRANSITION_OUTCOME_STALE,
		enginev1.TransitionOutcome_TRANSITION_OUTCOME_APPLIED,
		enginev1.TransitionOutcome_TRANSITION_OUTCOME_TERMINAL,
		enginev1.TransitionOutcome_TRANSITION_OUTCOME_UNKNOWN_ACTION,
	}, c.report(
		transition("r", "c", 1, running), lost, transition("r", "c", 2, queued),
		transition("r", "c", 1, failed), done, transition("r", "c", 3, queued), transition("r", "none", 1, queued),
	))
	details := c.details("r", "c")
	require.Equal(t, succeeded, details.GetStatus().GetPhase())
	require.EqualValues(t, 2, details.GetStatus().GetAttempts())
	require.Len(t, details.GetAttempts(), 2)
	var outputURI string
	require.NoError(t, c.pool.QueryRow(t.Context(), `SELECT output_uri FROM actions WHERE name = 'c'`).Scan(&outputURI))
	require.Equal(t, attempt, outputURI, "the directory, not the file")
	require.True(t, c.storage("r", "c").GetFinished())
	require.EqualValues(t, 2, c.storage("r", "c").GetAttempts())

	c.child("r", "a0", "bad")
	c.report(transition("r", "bad", 1, failed))
	require.NotEmpty(t, c.details("r", "bad").GetErrorInfo().GetMessage(), "a failure always has an error")
}

// An action's TaskAction was deleted while it reported the end of the action, and the next one reports a lost attempt. Both
// reports wait for the database and arrive in one call.
func TestReportsInOneCallStayApart(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r"))
	c.child("r", "a0", "c")
	end, lost := transition("r", "c", 1, failed), transition("r", "c", 1, failed)
	end.BeginsReport, lost.BeginsReport = true, true
	require.Equal(t, []enginev1.TransitionOutcome{
		enginev1.TransitionOutcome_TRANSITION_OUTCOME_APPLIED,
		enginev1.TransitionOutcome_TRANSITION_OUTCOME_TERMINAL,
		enginev1.TransitionOutcome_TRANSITION_OUTCOME_TERMINAL,
	}, c.report(end, lost, transition("r", "c", 2, queued)))
	require.Equal(t, failed, c.phase("r", "c"))
}

func condition(run, name string, kind core.SimpleType) *workflow.RecordActionRequest {
	return &workflow.RecordActionRequest{
		ActionId: actionID(run, name), Parent: "a0",
		Spec: &workflow.RecordActionRequest_Condition{Condition: &workflow.ConditionAction{
			Name: name, Type: &core.LiteralType{Type: &core.LiteralType_Simple{Simple: kind}},
		}},
	}
}

func TestSignalEvent(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r"))
	require.Equal(t, connect.CodeInvalidArgument, c.record(condition("r", "bad", core.SimpleType_DATETIME)))
	require.Zero(t, c.record(condition("r", "approve", core.SimpleType_STRING)))
	require.Equal(t, paused, c.phase("r", "approve"))

	signal := func(action string, payload *workflow.EventPayload) connect.Code {
		_, err := c.runs.SignalEvent(t.Context(), &workflow.SignalEventRequest{ActionId: actionID("r", action), Payload: payload})
		if err == nil {
			return 0
		}
		return connect.CodeOf(err)
	}
	word := func(s string) *workflow.EventPayload {
		return &workflow.EventPayload{Value: &workflow.EventPayload_StringValue{StringValue: s}}
	}
	number := &workflow.EventPayload{Value: &workflow.EventPayload_IntValue{IntValue: 1}}
	require.Equal(t, connect.CodeNotFound, signal("none", word("yes")))
	require.Equal(t, connect.CodeFailedPrecondition, signal("a0", word("yes")))
	require.Equal(t, connect.CodeInvalidArgument, signal("approve", number))
	require.Zero(t, signal("approve", word("yes")))
	require.Zero(t, signal("approve", word("yes")), "the same signal again")
	require.Equal(t, connect.CodeFailedPrecondition, signal("approve", word("no")))
	details := c.details("r", "approve")
	require.Equal(t, succeeded, details.GetStatus().GetPhase())
	require.Equal(t, "yes", details.GetSignalInfo().GetOutput().GetScalar().GetPrimitive().GetStringValue())
}

func TestUpdateActionStatusSignalsAndAborts(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r"))
	c.child("r", "a0", "c")
	c.child("r", "c", "below")
	require.Zero(t, c.record(condition("r", "approve", core.SimpleType_STRING)))
	update := func(action string, phase common.ActionPhase, change func(*workflow.UpdateActionStatusRequest)) connect.Code {
		request := &workflow.UpdateActionStatusRequest{
			ActionId: actionID("r", action), Status: &workflow.ActionStatus{Phase: phase, Attempts: 1},
		}
		if change != nil {
			change(request)
		}
		response, err := c.internal.UpdateActionStatus(t.Context(), request)
		require.NoError(t, err)
		return connect.Code(response.GetStatus().GetCode())
	}
	require.Equal(t, connect.CodeNotFound, update("none", running, nil))
	require.Zero(t, update("c", running, nil))
	require.Equal(t, running, c.phase("r", "c"))
	reason := "cancelled"
	require.Zero(t, update("c", aborted, func(r *workflow.UpdateActionStatusRequest) { r.AbortReason = &reason }))
	require.Equal(t, "cancelled", c.details("r", "below").GetAbortInfo().GetReason())
	require.Zero(t, update("approve", succeeded, func(r *workflow.UpdateActionStatusRequest) { r.Output = text("yes") }))
	require.Equal(t, connect.CodeFailedPrecondition,
		update("approve", succeeded, func(r *workflow.UpdateActionStatusRequest) { r.Output = text("no") }))
	require.Equal(t, connect.CodeFailedPrecondition,
		update("c", succeeded, func(r *workflow.UpdateActionStatusRequest) { r.Output = text("no") }))
}

func TestFailedTraceBringsItsError(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r"))
	document := &core.ErrorDocument{Error: &core.ContainerError{
		Code: "ValueError", Message: "no", Kind: core.ContainerError_RECOVERABLE, Origin: core.ExecutionError_USER,
	}}
	body, err := proto.Marshal(document)
	require.NoError(t, err)
	require.NoError(t, c.blobs.WriteAll(t.Context(), c.storage("r", "a0").GetRunOutputBase()+"bad/error.pb", body))
	trace := func(name string, phase common.ActionPhase) *workflow.RecordActionRequest {
		return &workflow.RecordActionRequest{
			ActionId: actionID("r", name), Parent: "a0",
			Spec: &workflow.RecordActionRequest_Trace{Trace: &workflow.TraceAction{
				Name: "step", Phase: phase, Spec: &task.TraceSpec{}, Outputs: &task.OutputReferences{OutputUri: c.storage("r", "a0").GetRunOutputBase() + name + "/outputs.pb"},
			}},
		}
	}
	require.Zero(t, c.record(trace("bad", failed)))
	require.Zero(t, c.record(trace("unexplained", failed)))
	require.Zero(t, c.record(trace("good", succeeded)))
	require.Equal(t, succeeded, c.phase("r", "good"))
	require.Equal(t, failed, c.phase("r", "unexplained"))

	var stored []byte
	require.NoError(t, c.pool.QueryRow(t.Context(), `SELECT error FROM actions WHERE name = 'bad'`).Scan(&stored))
	var failure core.ExecutionError
	require.NoError(t, proto.Unmarshal(stored, &failure))
	require.Equal(t, "ValueError", failure.GetCode())
	require.Equal(t, core.ExecutionError_USER, failure.GetKind())
	require.Equal(t, core.ContainerError_RECOVERABLE, failure.GetRecoverability())
}

func TestStreamsEchoTheNonce(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.create(namedRun("r"))
	c.child("r", "a0", "c")
	stream, err := c.internal.UpdateActionStatusStream(t.Context())
	require.NoError(t, err)
	for nonce, action := range []string{"c", "none", "c"} {
		require.NoError(t, stream.Send(&workflow.UpdateActionStatusStreamRequest{
			Nonce: int64(nonce + 7),
			Request: &workflow.UpdateActionStatusRequest{
				ActionId: actionID("r", action), Status: &workflow.ActionStatus{Phase: running, Attempts: 1},
			},
		}))
		response, err := stream.Receive()
		require.NoError(t, err)
		require.EqualValues(t, nonce+7, response.GetNonce())
		require.Equal(t, action == "none", response.GetResponse().GetStatus().GetCode() != 0)
	}
	require.NoError(t, stream.CloseRequest())
	require.NoError(t, stream.CloseResponse())

	events, err := c.internal.RecordActionEventStream(t.Context())
	require.NoError(t, err)
	require.NoError(t, events.Send(&workflow.RecordActionEventStreamRequest{
		Nonce:   3,
		Request: &workflow.RecordActionEventRequest{Event: transition("r", "c", 1, succeeded).GetEvent()},
	}))
	response, err := events.Receive()
	require.NoError(t, err)
	require.EqualValues(t, 3, response.GetNonce())
	require.Zero(t, response.GetResponse().GetStatus().GetCode())
	require.NoError(t, events.CloseRequest())
	require.Equal(t, succeeded, c.phase("r", "c"))
}
