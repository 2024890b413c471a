package mcp

import (
	"context"
	"encoding/json"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

type readDataOutput struct {
	Inputs  map[string]any `json:"inputs"`
	Outputs map[string]any `json:"outputs"`
}

// maxValue bounds a value in JSON, in bytes. A longer one is returned as text that is cut.
const maxValue = 20_000

var readDataTool = reads("read_data", "Reads the inputs and outputs of an action as JSON. Files and tables are returned as their URIs.", readData)

func readData(ctx context.Context, s *session, in actionName) (out readDataOutput, err error) {
	details, err := s.runs.GetActionDetails(ctx, &workflow.GetActionDetailsRequest{ActionId: in.id()})
	if err != nil {
		return out, err
	}
	data, err := s.data.GetActionData(ctx, &dataproxy.GetActionDataRequest{ActionId: in.id()})
	if err != nil {
		return out, err
	}
	types := details.GetDetails().GetTask().GetTaskTemplate().GetInterface()
	if out.Inputs, err = s.values(ctx, data.GetInputs().GetLiterals(), types.GetInputs()); err != nil {
		return out, err
	}
	out.Outputs, err = s.values(ctx, data.GetOutputs().GetLiterals(), types.GetOutputs())
	return out, err
}

// values are literals in JSON, each by itself, since the type of one may have no form in JSON.
func (s *session) values(ctx context.Context, literals []*task.NamedLiteral, types *core.VariableMap) (map[string]any, error) {
	out := map[string]any{}
	byName := map[string]*core.VariableEntry{}
	for _, entry := range types.GetVariables() {
		byName[entry.GetKey()] = entry
	}
	for _, literal := range literals {
		name := literal.GetName()
		entry := byName[name]
		if entry == nil {
			continue // no type says how to read it
		}
		form, err := s.translate.LiteralsToLaunchFormJson(ctx, &workflow.LiteralsToLaunchFormJsonRequest{
			Literals: []*task.NamedLiteral{literal}, Variables: &core.VariableMap{Variables: []*core.VariableEntry{entry}},
		})
		if isInvalid(err) {
			out[name] = "(this type has no form in JSON)"
			continue
		}
		if err != nil {
			return nil, err
		}
		value := form.GetJson().GetFields()["properties"].GetStructValue().GetFields()[name].GetStructValue().GetFields()["default"].AsInterface()
		if text, err := json.Marshal(value); err == nil && len(text) > maxValue {
			value = cut(string(text), maxValue)
		}
		out[name] = value
	}
	return out, nil
}
