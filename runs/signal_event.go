package runs

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// SignalEvent implements workflowconnect.RunServiceHandler: it gives a paused condition its value.
func (h *runHandler) SignalEvent(ctx context.Context, request *workflow.SignalEventRequest) (*workflow.SignalEventResponse, error) {
	primitive, err := payload(request.GetPayload())
	if err != nil {
		return nil, err
	}
	action := ident.ActionOf(request.GetActionId())
	value := &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Primitive{Primitive: primitive}}}}
	if err := h.svc.checkSignal(ctx, "payload", action, value); err != nil {
		return nil, err
	}
	info := &workflow.SignalInfo{SignalledBy: callerIdentity(ctx), Output: value}
	if err := h.svc.writer.Signal(ctx, store.Signal{Action: action, Info: info}); err != nil {
		return nil, err
	}
	return &workflow.SignalEventResponse{}, nil
}

func payload(p *workflow.EventPayload) (*core.Primitive, error) {
	switch value := p.GetValue().(type) {
	case *workflow.EventPayload_BoolValue:
		return &core.Primitive{Value: &core.Primitive_Boolean{Boolean: value.BoolValue}}, nil
	case *workflow.EventPayload_IntValue:
		return &core.Primitive{Value: &core.Primitive_Integer{Integer: value.IntValue}}, nil
	case *workflow.EventPayload_FloatValue:
		return &core.Primitive{Value: &core.Primitive_FloatValue{FloatValue: value.FloatValue}}, nil
	case *workflow.EventPayload_StringValue:
		return &core.Primitive{Value: &core.Primitive_StringValue{StringValue: value.StringValue}}, nil
	default:
		return nil, rpc.InvalidArgument("payload", "a value is needed")
	}
}

// checkSignal compares the type of a value with that of the condition. The type never changes, so the answer still
// holds when the value is stored; whether the condition waits is for the store to say.
func (s *Service) checkSignal(ctx context.Context, field string, action ident.Action, value *core.Literal) error {
	at, err := s.live.Storage(ctx, action)
	if err != nil {
		return err
	}
	if workflow.ActionType(at.ActionType) != workflow.ActionType_ACTION_TYPE_CONDITION {
		return rpc.FailedPrecondition("action %s is no condition", action)
	}
	body, err := s.lists.Spec(ctx, at.SpecDigest)
	if err != nil {
		return err
	}
	var condition workflow.ConditionAction
	if err := proto.Unmarshal(body, &condition); err != nil {
		return rpc.DataLoss(err, "the stored condition %s cannot be read", action)
	}
	if got, want := simpleType(value), condition.GetType().GetSimple(); got != want {
		return rpc.InvalidArgument(field, "the condition %s wants a value of type %s, got %s", action, want, got)
	}
	return nil
}

func simpleType(value *core.Literal) core.SimpleType {
	switch value.GetScalar().GetPrimitive().GetValue().(type) {
	case *core.Primitive_Boolean:
		return core.SimpleType_BOOLEAN
	case *core.Primitive_Integer:
		return core.SimpleType_INTEGER
	case *core.Primitive_FloatValue:
		return core.SimpleType_FLOAT
	case *core.Primitive_StringValue:
		return core.SimpleType_STRING
	default:
		return core.SimpleType_NONE
	}
}
