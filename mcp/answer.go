package mcp

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// answerType is the type of the answer that a condition takes.
func answerType(t *core.LiteralType) string { return strings.ToLower(t.GetSimple().String()) }

type answerInput struct {
	runName
	Action string `json:"action" jsonschema:"the action of the condition, from list_paused"`
	Value  any    `json:"value" jsonschema:"the answer, of the type that list_paused says"`
}

type doneOutput struct {
	Done string `json:"done"`
}

var answerTool = changes("answer_condition", "Answers a condition that waits for a person. A person must have given you the answer.", answer)

func answer(ctx context.Context, s *session, in answerInput) (out doneOutput, err error) {
	id := in.action(in.Action)
	details, err := s.runs.GetActionDetails(ctx, &workflow.GetActionDetailsRequest{ActionId: id})
	if err != nil {
		return out, err
	}
	condition := details.GetDetails().GetCondition()
	if condition == nil {
		return out, rpc.InvalidArgument("action", "%s is not a condition; list_paused has those that wait", id.GetName())
	}
	payload, err := payloadOf(condition.GetType(), in.Value)
	if err != nil {
		return out, err
	}
	_, err = s.runs.SignalEvent(ctx, &workflow.SignalEventRequest{
		ActionId: id, ParentActionName: details.GetDetails().GetMetadata().GetParent(), Payload: payload,
	})
	return doneOutput{"answered " + condition.GetName()}, err
}

// payloadOf is a JSON value as the answer to a condition of a type.
func payloadOf(t *core.LiteralType, given any) (*workflow.EventPayload, error) {
	payload := &workflow.EventPayload{}
	value, err := json.Marshal(given)
	if err != nil {
		return nil, rpc.InvalidArgument("value", "must be a JSON value")
	}
	switch t.GetSimple() {
	case core.SimpleType_BOOLEAN:
		one := &workflow.EventPayload_BoolValue{}
		err, payload.Value = json.Unmarshal(value, &one.BoolValue), one
	case core.SimpleType_INTEGER:
		one := &workflow.EventPayload_IntValue{}
		err, payload.Value = json.Unmarshal(value, &one.IntValue), one
	case core.SimpleType_FLOAT:
		one := &workflow.EventPayload_FloatValue{}
		err, payload.Value = json.Unmarshal(value, &one.FloatValue), one
	case core.SimpleType_STRING:
		one := &workflow.EventPayload_StringValue{}
		err, payload.Value = json.Unmarshal(value, &one.StringValue), one
	default:
		return nil, rpc.FailedPrecondition("answers of type %s cannot be given here; use the console", answerType(t))
	}
	if err != nil {
		return nil, rpc.InvalidArgument("value", "must be a JSON value of type %s", answerType(t))
	}
	return payload, nil
}
