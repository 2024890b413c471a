package runs

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/view"
)

// signalOutput is the name that clients give to the only output of a condition.
const signalOutput = "o0"

// GetActionData implements workflowconnect.RunServiceHandler. Inputs of an action that goes on may still be missing;
// those of a finished task that are gone are not found, which clients recognise by the word inputs.
func (h *runHandler) GetActionData(ctx context.Context, request *workflow.GetActionDataRequest) (*workflow.GetActionDataResponse, error) {
	row, err := h.svc.lists.ActionRow(ctx, ident.ActionOf(request.GetActionId()))
	if err != nil {
		return nil, err
	}
	response := &workflow.GetActionDataResponse{Inputs: &task.Inputs{}, Outputs: &task.Outputs{}}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		found, err := h.svc.readMessage(groupCtx, inputsURI(row), response.GetInputs())
		ended := view.Terminal(common.ActionPhase(row.Phase))
		if err == nil && !found && ended && workflow.ActionType(row.ActionType) == workflow.ActionType_ACTION_TYPE_TASK {
			return rpc.NotFound("the inputs of action %s are no longer stored", row.Name)
		}
		return err
	})
	group.Go(func() error {
		_, err := h.svc.readMessage(groupCtx, view.OutputsURI(row), response.GetOutputs())
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if len(row.Signal) > 0 {
		return response, addSignal(row, response.GetOutputs())
	}
	return response, nil
}

// readMessage reads a message from the object store; false when there is nothing.
func (s *Service) readMessage(ctx context.Context, uri string, target proto.Message) (bool, error) {
	return s.readMessageUpTo(ctx, uri, target, s.config.MaxInlineData)
}

func (s *Service) readMessageUpTo(ctx context.Context, uri string, target proto.Message, limit int64) (bool, error) {
	if uri == "" {
		return false, nil
	}
	body, err := s.blobs.ReadAll(ctx, uri, limit)
	switch {
	case errors.Is(err, blobstore.ErrNotExist):
		return false, nil
	case errors.Is(err, blobstore.ErrTooLarge):
		return false, rpc.ResourceExhausted("%s is larger than %d bytes; read it from the object store", uri, limit)
	case err != nil:
		return false, rpc.Unavailable(err, "%s cannot be read from the object store", uri)
	}
	if err := proto.Unmarshal(body, target); err != nil {
		return false, rpc.DataLoss(err, "%s is not a %s", uri, target.ProtoReflect().Descriptor().Name())
	}
	return true, nil
}

func addSignal(row *store.Action, outputs *task.Outputs) error {
	var signal workflow.SignalInfo
	if err := proto.Unmarshal(row.Signal, &signal); err != nil {
		return rpc.DataLoss(err, "the stored signal of action %s cannot be read", row.Name)
	}
	outputs.Literals = append(outputs.Literals, &task.NamedLiteral{Name: signalOutput, Value: signal.GetOutput()})
	return nil
}
