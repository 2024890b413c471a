package actions_test

import (
	"errors"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/actions"
	actionspb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

func child() *actionspb.EnqueueRequest {
	return &actionspb.EnqueueRequest{Action: &actionspb.Action{
		ActionId:         id("child"),
		ParentActionName: proto.String("a0"),
		InputUri:         "/data/child/inputs.pb",
		RunOutputBase:    "/data/",
		Group:            "g",
		Spec: &actionspb.Action_Task{Task: &workflow.TaskAction{
			Spec: &task.TaskSpec{TaskTemplate: &core.TaskTemplate{Type: "python"}},
		}},
	}}
}

// The SDK acts on exactly these codes; every other code makes it repeat the call for many minutes.
func TestEnqueueAnswers(t *testing.T) {
	code := func(c connect.Code) *status.Status { return &status.Status{Code: int32(c), Message: "because"} }
	for name, test := range map[string]struct {
		body *status.Status
		err  error
		want connect.Code // 0 means no error
	}{
		"recorded":               {body: &status.Status{}},
		"recorded, no body":      {},
		"recorded before":        {body: code(connect.CodeAlreadyExists)},
		"recorded before, error": {err: rpc.AlreadyExists("it exists")},
		"the run has ended":      {body: code(connect.CodeAborted), want: connect.CodeAborted},
		"the parent has ended":   {body: code(connect.CodeFailedPrecondition), want: connect.CodeAborted},
		"unknown parent":         {body: code(connect.CodeNotFound), want: connect.CodeNotFound},
		"bad content":            {body: code(connect.CodeInvalidArgument), want: connect.CodeInvalidArgument},
		"runs service is down":   {err: rpc.Unavailable(nil, "down"), want: connect.CodeUnavailable},
		"lost a race":            {err: rpc.Aborted("serialization failure"), want: connect.CodeUnavailable},
		"too slow":               {body: code(connect.CodeDeadlineExceeded), want: connect.CodeUnavailable},
		"a limit is reached":     {body: code(connect.CodeResourceExhausted), want: connect.CodeResourceExhausted},
		"overload":               {err: rpc.ResourceExhausted("too much"), want: connect.CodeResourceExhausted},
		"bug":                    {err: errors.New("nil map"), want: connect.CodeUnavailable},
		"bug, in the body":       {body: code(connect.CodeInternal), want: connect.CodeUnavailable},
		"unknown":                {body: code(connect.CodeUnknown), want: connect.CodeUnavailable},
		"canceled":               {body: code(connect.CodeCanceled), want: connect.CodeUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, actions.DefaultConfig())
			f.recorder.body, f.recorder.err = test.body, test.err
			_, err := f.actions.Enqueue(t.Context(), child())
			if test.want == 0 {
				require.NoError(t, err)
				return
			}
			require.Equal(t, test.want, connect.CodeOf(err), err)
		})
	}
}

func TestEnqueueIsAnsweredBeforeTheClientGivesUp(t *testing.T) {
	config := actions.DefaultConfig()
	require.Less(t, config.CallTimeout, 5*time.Second)
	config.CallTimeout = time.Millisecond
	f := newFixture(t, config)
	f.recorder.wait = true
	_, err := f.actions.Enqueue(t.Context(), child())
	require.Equal(t, connect.CodeUnavailable, connect.CodeOf(err))
}

func TestEnqueuePassesEverythingOn(t *testing.T) {
	f := newFixture(t, actions.DefaultConfig())
	request := child()
	request.Action.RecoveredFrom, request.Action.Subject = id("source"), "ada"
	_, err := f.actions.Enqueue(t.Context(), request)
	require.NoError(t, err)
	got := f.recorder.recorded[0]
	require.True(t, proto.Equal(&workflow.RecordActionRequest{ // without the subject, which only the run decides
		ActionId: id("child"), Parent: "a0", Group: "g", InputUri: "/data/child/inputs.pb",
		RecoveredFrom: id("source"), Spec: &workflow.RecordActionRequest_Task{Task: request.GetAction().GetTask()},
	}, got), got)

	request.Action.Spec = &actionspb.Action_Trace{Trace: &workflow.TraceAction{Name: "t", Spec: &task.TraceSpec{}}}
	_, err = f.actions.Enqueue(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, "t", f.recorder.recorded[1].GetTrace().GetName())

	request.Action.Spec = &actionspb.Action_Condition{Condition: &workflow.ConditionAction{Name: "c", Type: simple(core.SimpleType_STRING)}}
	_, err = f.actions.Enqueue(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, "c", f.recorder.recorded[2].GetCondition().GetName())
}

func simple(t core.SimpleType) *core.LiteralType {
	return &core.LiteralType{Type: &core.LiteralType_Simple{Simple: t}}
}

// What the contract itself refuses does not reach the runs service, which checks the rest.
func TestEnqueueRefusals(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*actionspb.EnqueueRequest)
		field string
	}{
		"nothing":      {func(r *actionspb.EnqueueRequest) { r.Action = nil }, "action"},
		"no id":        {func(r *actionspb.EnqueueRequest) { r.Action.ActionId = nil }, "action_id"},
		"no run":       {func(r *actionspb.EnqueueRequest) { r.Action.ActionId.Run = nil }, "action_id.run"},
		"no name":      {func(r *actionspb.EnqueueRequest) { r.Action.ActionId.Name = "" }, "action_id.name"},
		"long name":    {func(r *actionspb.EnqueueRequest) { r.Action.ActionId.Name = "x123456789012345678901234567890" }, "action_id.name"},
		"no inputs":    {func(r *actionspb.EnqueueRequest) { r.Action.InputUri = "" }, "input_uri"},
		"no spec":      {func(r *actionspb.EnqueueRequest) { r.Action.Spec = nil }, "spec"},
		"no task spec": {func(r *actionspb.EnqueueRequest) { r.Action.GetTask().Spec = nil }, "task.spec"},
		"no task":      {func(r *actionspb.EnqueueRequest) { r.Action.Spec = &actionspb.Action_Task{} }, "task"},
		"no trace name": {func(r *actionspb.EnqueueRequest) {
			r.Action.Spec = &actionspb.Action_Trace{Trace: &workflow.TraceAction{}}
		}, "trace"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, actions.DefaultConfig())
			request := child()
			test.spoil(request)
			_, err := f.actions.Enqueue(t.Context(), request)
			require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err), err)
			require.ErrorContains(t, err, test.field)
			require.Empty(t, f.recorder.recorded)
		})
	}
}

func TestQueueServiceIsTheSame(t *testing.T) {
	f := newFixture(t, actions.DefaultConfig())
	action := child().GetAction()
	request := &workflow.EnqueueActionRequest{
		ActionId: action.GetActionId(), ParentActionName: proto.String("a0"), InputUri: action.GetInputUri(),
		RunOutputBase: action.GetRunOutputBase(), Spec: &workflow.EnqueueActionRequest_Task{Task: action.GetTask()},
	}
	_, err := f.queue.EnqueueAction(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, "python", f.recorder.recorded[0].GetTask().GetSpec().GetTaskTemplate().GetType())

	f.recorder.body = &status.Status{Code: int32(connect.CodeFailedPrecondition)}
	_, err = f.queue.EnqueueAction(t.Context(), request)
	require.Equal(t, connect.CodeAborted, connect.CodeOf(err))

	f.recorder.body = nil
	_, err = f.queue.AbortQueuedAction(t.Context(), &workflow.AbortQueuedActionRequest{ActionId: id("child"), Reason: proto.String("enough")})
	require.NoError(t, err)
	require.Equal(t, common.ActionPhase_ACTION_PHASE_ABORTED, f.recorder.updated[0].GetStatus().GetPhase())
	_, err = f.queue.AbortQueuedRun(t.Context(), &workflow.AbortQueuedRunRequest{RunId: run.Proto(), Reason: proto.String("enough")})
	require.NoError(t, err)
	require.Equal(t, "enough", f.runs.aborted[0].GetReason())
	_, err = f.queue.AbortQueuedRun(t.Context(), &workflow.AbortQueuedRunRequest{})
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err))
}
