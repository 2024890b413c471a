package actions_test

import (
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/actions"
	actionspb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/actions"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

func ada() *common.EnrichedIdentity {
	return &common.EnrichedIdentity{Principal: &common.EnrichedIdentity_User{
		User: &common.User{Id: &common.UserIdentifier{Subject: "ada"}},
	}}
}

func literal(p *core.Primitive) *core.Literal {
	return &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Primitive{Primitive: p}}}}
}

func TestAbortKeepsReasonAndIdentity(t *testing.T) {
	f := newFixture(t, actions.DefaultConfig())
	_, err := f.actions.Abort(t.Context(), &actionspb.AbortRequest{ActionId: id("child"), Reason: proto.String("enough"), AbortedBy: ada()})
	require.NoError(t, err)
	got := f.recorder.updated[0]
	require.Equal(t, common.ActionPhase_ACTION_PHASE_ABORTED, got.GetStatus().GetPhase())
	require.Equal(t, "enough", got.GetAbortReason())
	require.Equal(t, "ada", got.GetPrincipal().GetUser().GetId().GetSubject())

	_, err = f.actions.Abort(t.Context(), &actionspb.AbortRequest{ActionId: id("child")})
	require.NoError(t, err)
	require.Nil(t, f.recorder.updated[1].AbortReason)
}

// The SDK tolerates these two codes when it cancels a child; those of the runs service must reach it.
func TestOutcomesReachTheCaller(t *testing.T) {
	for _, code := range []connect.Code{connect.CodeNotFound, connect.CodeFailedPrecondition, connect.CodeInvalidArgument, connect.CodeUnavailable} {
		f := newFixture(t, actions.DefaultConfig())
		f.recorder.body = &status.Status{Code: int32(code), Message: "because"}
		_, err := f.actions.Abort(t.Context(), &actionspb.AbortRequest{ActionId: id("child")})
		require.Equal(t, code, connect.CodeOf(err))
		require.ErrorContains(t, err, "because")
		_, err = f.actions.Signal(t.Context(), &actionspb.SignalRequest{
			ActionId: id("c"), ParentActionName: "a0", Value: literal(&core.Primitive{Value: &core.Primitive_Boolean{Boolean: true}}),
		})
		require.Equal(t, code, connect.CodeOf(err))
		_, err = f.actions.Update(t.Context(), &actionspb.UpdateRequest{
			ActionId: id("child"), Attempt: 1, Status: &workflow.ActionStatus{Attempts: 1},
		})
		require.Equal(t, code, connect.CodeOf(err))
	}
}

func TestSignal(t *testing.T) {
	f := newFixture(t, actions.DefaultConfig())
	value := literal(&core.Primitive{Value: &core.Primitive_Integer{Integer: 42}})
	_, err := f.actions.Signal(t.Context(), &actionspb.SignalRequest{ActionId: id("c"), ParentActionName: "a0", Value: value, SignalledBy: ada()})
	require.NoError(t, err)
	got := f.recorder.updated[0]
	require.Equal(t, common.ActionPhase_ACTION_PHASE_SUCCEEDED, got.GetStatus().GetPhase())
	require.True(t, proto.Equal(value, got.GetOutput()))
	require.Equal(t, "ada", got.GetPrincipal().GetUser().GetId().GetSubject())
}

func TestUpdateTakesTheAttempt(t *testing.T) {
	f := newFixture(t, actions.DefaultConfig())
	_, err := f.actions.Update(t.Context(), &actionspb.UpdateRequest{
		ActionId: id("child"), Attempt: 3,
		Status: &workflow.ActionStatus{Phase: common.ActionPhase_ACTION_PHASE_RUNNING, Attempts: 1},
	})
	require.NoError(t, err)
	require.Equal(t, uint32(3), f.recorder.updated[0].GetStatus().GetAttempts())
}

// Clients may send where an attempt can be reached. Nothing reads it, so it is checked and not kept.
func TestAnAddressIsCheckedAndNotKept(t *testing.T) {
	f := newFixture(t, actions.DefaultConfig())
	update := func(address *common.ActionAddress) error {
		_, err := f.actions.Update(t.Context(), &actionspb.UpdateRequest{
			ActionId: id("child"), Attempt: 1, Address: address,
			Status: &workflow.ActionStatus{Phase: common.ActionPhase_ACTION_PHASE_RUNNING, Attempts: 1},
		})
		return err
	}
	pod := &common.PodAddress{Namespace: "n", Name: "p", Ip: "10.0.0.1", Port: 80}
	require.NoError(t, update(&common.ActionAddress{Pod: pod, Path: "/x", Url: "https://example.com/x", Cluster: "c"}))
	require.Len(t, f.recorder.updated, 1)
	stored, err := proto.Marshal(f.recorder.updated[0])
	require.NoError(t, err)
	require.NotContains(t, string(stored), "example.com")

	err = update(&common.ActionAddress{Url: "no address"})
	require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "address.url")
	pod.Port = 65536
	require.ErrorContains(t, update(&common.ActionAddress{Pod: pod}), "address.pod.port")
	require.Len(t, f.recorder.updated, 1)
}

func TestBadRequestsNameTheField(t *testing.T) {
	f := newFixture(t, actions.DefaultConfig())
	refused := func(field string, err error) {
		t.Helper()
		require.Equal(t, connect.CodeInvalidArgument, connect.CodeOf(err), err)
		require.ErrorContains(t, err, field)
	}
	_, err := f.actions.Abort(t.Context(), &actionspb.AbortRequest{})
	refused("action_id", err)
	_, err = f.actions.Update(t.Context(), &actionspb.UpdateRequest{})
	refused("action_id", err)
	_, err = f.actions.Update(t.Context(), &actionspb.UpdateRequest{ActionId: id("child"), Attempt: 1})
	refused("status", err)
	_, err = f.actions.Update(t.Context(), &actionspb.UpdateRequest{ActionId: id("child"), Status: &workflow.ActionStatus{Attempts: 1}})
	refused("attempt", err)
	_, err = f.actions.Signal(t.Context(), &actionspb.SignalRequest{})
	refused("action_id", err)
	_, err = f.actions.Signal(t.Context(), &actionspb.SignalRequest{ActionId: id("c"), ParentActionName: "a0"})
	refused("value", err)
	_, err = f.actions.Signal(t.Context(), &actionspb.SignalRequest{
		ActionId: id("c"), ParentActionName: "a0", Value: &core.Literal{Value: &core.Literal_Collection{}},
	})
	refused("value", err)
	_, err = f.queue.EnqueueAction(t.Context(), &workflow.EnqueueActionRequest{})
	refused("action_id", err)
	_, err = f.queue.AbortQueuedAction(t.Context(), &workflow.AbortQueuedActionRequest{})
	refused("action_id", err)
	require.Empty(t, f.recorder.updated)
}
