package change

import (
	"context"
	"strings"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// SignalWriter stores the value of a condition; store.Writer does.
type SignalWriter interface {
	Signal(ctx context.Context, signal store.Signal) error
}

// Signaller gives conditions their values. Both fields are required.
type Signaller struct {
	Conditions *Conditions
	Writer     SignalWriter
}

// SignalEvent implements workflowconnect.RunServiceHandler: it gives a paused condition its value.
func (s *Signaller) SignalEvent(ctx context.Context, request *workflow.SignalEventRequest) (*workflow.SignalEventResponse, error) {
	return &workflow.SignalEventResponse{}, s.signal(ctx, request.GetActionId(), request.GetPayload(), "")
}

// AnswerCondition implements insightv1connect.ConditionServiceHandler: as SignalEvent, with a comment.
func (s *Signaller) AnswerCondition(ctx context.Context, request *insightv1.AnswerConditionRequest) (*insightv1.AnswerConditionResponse, error) {
	comment := strings.TrimSpace(request.GetComment())
	return &insightv1.AnswerConditionResponse{}, s.signal(ctx, request.GetActionId(), request.GetPayload(), comment)
}

func (s *Signaller) signal(ctx context.Context, id *common.ActionIdentifier, given *workflow.EventPayload, comment string) error {
	primitive, err := payload(given)
	if err != nil {
		return err
	}
	action := ident.ActionOf(id)
	value := &core.Literal{Value: &core.Literal_Scalar{Scalar: &core.Scalar{Value: &core.Scalar_Primitive{Primitive: primitive}}}}
	if err := s.Conditions.check(ctx, "payload", action, value); err != nil {
		return err
	}
	info := &workflow.SignalInfo{SignalledBy: caller.Identity(ctx), Output: value}
	return s.Writer.Signal(ctx, store.Signal{Action: action, Info: info, Comment: comment})
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
		return nil, rpc.InvalidArgument("payload", "a value is required")
	}
}
