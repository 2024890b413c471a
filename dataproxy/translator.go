package dataproxy

import (
	"context"
	"errors"

	"github.com/flyte-binary/flyte-binary/dataproxy/launchform"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// translatorHandler serves TranslatorService over the package launchform.
type translatorHandler struct{ svc *Service }

var _ workflowconnect.TranslatorServiceHandler = (*translatorHandler)(nil)

// TaskSpecToLaunchFormJson implements TranslatorService.
func (h *translatorHandler) TaskSpecToLaunchFormJson(_ context.Context, r *workflow.TaskSpecToLaunchFormJsonRequest) (*workflow.TaskSpecToLaunchFormJsonResponse, error) { //nolint:staticcheck // the contract spells it so
	if r.GetTaskSpec().GetTaskTemplate() == nil {
		return nil, rpc.InvalidArgument("task_spec.task_template", "is required")
	}
	form, err := launchform.TaskForm(r.GetTaskSpec())
	if err != nil {
		return nil, formError("task_spec", err)
	}
	return &workflow.TaskSpecToLaunchFormJsonResponse{Json: form}, nil
}

// LiteralsToLaunchFormJson implements TranslatorService. Literals come with the request or from the data of an action.
func (h *translatorHandler) LiteralsToLaunchFormJson(ctx context.Context, r *workflow.LiteralsToLaunchFormJsonRequest) (*workflow.LiteralsToLaunchFormJsonResponse, error) { //nolint:staticcheck // the contract spells it so
	literals := r.GetLiterals()
	if r.GetLiteralsUri() != "" {
		var err error
		if literals, err = h.svc.ownedLiterals(ctx, r); err != nil {
			return nil, err
		}
	}
	values := make(map[string]*core.Literal, len(literals))
	for _, literal := range literals {
		values[literal.GetName()] = literal.GetValue()
	}
	form, err := launchform.Form(r.GetVariables(), values)
	if err != nil {
		return nil, formError("literals", err)
	}
	return &workflow.LiteralsToLaunchFormJsonResponse{Json: form}, nil
}

// LaunchFormJsonToLiterals implements TranslatorService.
func (h *translatorHandler) LaunchFormJsonToLiterals(_ context.Context, r *workflow.LaunchFormJsonToLiteralsRequest) (*workflow.LaunchFormJsonToLiteralsResponse, error) { //nolint:staticcheck // the contract spells it so
	if r.GetJson() == nil {
		return nil, rpc.InvalidArgument("json", "is required")
	}
	literals, err := launchform.FromForm(r.GetJson())
	if err != nil {
		return nil, formError("json", err)
	}
	return &workflow.LaunchFormJsonToLiteralsResponse{Literals: literals}, nil
}

// JsonValuesToLiterals implements TranslatorService.
func (h *translatorHandler) JsonValuesToLiterals(_ context.Context, r *workflow.JsonValuesToLiteralsRequest) (*workflow.JsonValuesToLiteralsResponse, error) { //nolint:staticcheck // the contract spells it so
	if r.GetVariables() == nil {
		return nil, rpc.InvalidArgument("variables", "are required")
	}
	literals, err := launchform.FromValues(r.GetVariables(), r.GetValues())
	if err != nil {
		return nil, formError("values", err)
	}
	return &workflow.JsonValuesToLiteralsResponse{Literals: literals}, nil
}

// ownedLiterals reads literals from a URI that belongs to an action or a trigger; no other URI is read for anybody.
func (s *Service) ownedLiterals(ctx context.Context, r *workflow.LiteralsToLaunchFormJsonRequest) ([]*task.NamedLiteral, error) {
	wanted := r.GetLiteralsUri()
	switch owner := r.GetOwner().(type) {
	case *workflow.LiteralsToLaunchFormJsonRequest_ActionId:
		if owner.ActionId.GetRun() == nil || owner.ActionId.GetName() == "" {
			return nil, rpc.InvalidArgument("action_id", "the run and the name are required")
		}
		uris, err := s.deps.Runs.GetActionDataURIs(ctx, &workflow.GetActionDataURIsRequest{ActionId: owner.ActionId})
		if err != nil {
			return nil, err
		}
		if in := inputsFile(uris.GetInputsUri()); wanted == uris.GetInputsUri() || wanted == in {
			return s.readLiterals(ctx, in)
		}
		if out := outputsFile(uris.GetOutputsUri()); wanted == uris.GetOutputsUri() || wanted == out {
			return s.readLiterals(ctx, out)
		}
	case *workflow.LiteralsToLaunchFormJsonRequest_TriggerId:
		details, err := s.trigger(ctx, "trigger_id.name", owner.TriggerId.GetName())
		if err != nil {
			return nil, err
		}
		uri := details.GetSpec().GetOffloadedInputData().GetUri()
		if in := inputsFile(uri); in != "" && (wanted == uri || wanted == in) {
			return s.readLiterals(ctx, in)
		}
	default:
		return nil, rpc.InvalidArgument("owner", "literals_uri requires the action_id or the trigger_id that owns it")
	}
	return nil, rpc.InvalidArgument("literals_uri", "does not belong to its owner")
}

// readLiterals reads inputs or outputs: their literals have the same place in both messages.
func (s *Service) readLiterals(ctx context.Context, uri string) ([]*task.NamedLiteral, error) {
	outputs := &task.Outputs{}
	found, err := s.readMessage(ctx, uri, outputs)
	if err == nil && !found {
		err = rpc.NotFound("%s does not exist in the object store", uri)
	}
	return outputs.GetLiterals(), err
}

func formError(field string, err error) error {
	if errors.Is(err, launchform.ErrUnsupported) {
		return rpc.Unimplemented("%s: %s", field, err)
	}
	return rpc.InvalidArgument(field, "%s", err)
}
