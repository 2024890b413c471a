package dataproxy

import (
	"context"
	"errors"
	"strings"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/names/phase"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// conditionOutput is the name that clients give to the only output of a condition.
const conditionOutput = "o0"

// GetActionData implements DataProxyService: it returns the inputs and outputs of an action. Outputs that do not
// exist yet are empty. Missing inputs return NotFound with a message that names them, by which clients recognize the
// loss.
func (s *Service) GetActionData(ctx context.Context, r *dataproxy.GetActionDataRequest) (*dataproxy.GetActionDataResponse, error) {
	id := r.GetActionId()
	if id.GetRun() == nil || id.GetName() == "" {
		return nil, rpc.InvalidArgument("action_id", "the run and the name are required")
	}
	if r.GetRunSource() == workflow.RunSource_RUN_SOURCE_TRACKED {
		return s.trackedData(ctx, id)
	}
	uris, err := s.deps.Runs.GetActionDataURIs(ctx, &workflow.GetActionDataURIsRequest{ActionId: id})
	if err != nil {
		return nil, err
	}
	response, err := s.readData(ctx, uris)
	if err != nil || response.GetInputsUri() != "" {
		return response, err
	}
	if err := s.withoutInputs(ctx, id, response); err != nil {
		return nil, err
	}
	return response, nil
}

// readData reads what is stored; the response has the URIs of what there is.
func (s *Service) readData(ctx context.Context, uris *workflow.GetActionDataURIsResponse) (*dataproxy.GetActionDataResponse, error) {
	response := &dataproxy.GetActionDataResponse{Inputs: &task.Inputs{}, Outputs: &task.Outputs{}}
	var hasInputs, hasOutputs bool
	group, reading := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		hasInputs, err = s.readMessage(reading, inputsFile(uris.GetInputsUri()), response.GetInputs())
		return err
	})
	group.Go(func() (err error) {
		hasOutputs, err = s.readMessage(reading, outputsFile(uris.GetOutputsUri()), response.GetOutputs())
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if hasOutputs {
		response.OutputsUri = uris.GetOutputsUri()
	}
	if hasInputs {
		response.InputsUri = uris.GetInputsUri()
	}
	return response, nil
}

// withoutInputs finds out why an action has no inputs: conditions never have any, and carry their value in their state;
// the data of an unfinished action may still come.
func (s *Service) withoutInputs(ctx context.Context, id *common.ActionIdentifier, response *dataproxy.GetActionDataResponse) error {
	found, err := s.deps.Runs.GetActionDetails(ctx, &workflow.GetActionDetailsRequest{ActionId: id})
	if err != nil {
		return err
	}
	details := found.GetDetails()
	if value := details.GetSignalInfo().GetOutput(); value != nil {
		response.Outputs.Literals = append(response.Outputs.Literals, &task.NamedLiteral{Name: conditionOutput, Value: value})
	}
	if details.GetMetadata().GetActionType() == workflow.ActionType_ACTION_TYPE_TASK && phase.Terminal(details.GetStatus().GetPhase()) {
		return rpc.NotFound("the inputs of action %s are no longer stored", id.GetName())
	}
	return nil
}

func inputsFile(uri string) string {
	if uri == "" {
		return ""
	}
	return blobpath.InputsPath(uri)
}

// outputsFile is the file that an output URI means: a task's is its directory, a trace's the file itself.
func outputsFile(uri string) string {
	if uri == "" || strings.HasSuffix(uri, "/"+blobpath.OutputsFile) {
		return uri
	}
	return strings.TrimRight(uri, "/") + "/" + blobpath.OutputsFile
}

// readMessage reads a message from the object store; false when it is not there.
func (s *Service) readMessage(ctx context.Context, uri string, target proto.Message) (bool, error) {
	if uri == "" {
		return false, nil
	}
	body, err := s.deps.Store.ReadAll(ctx, uri, s.config.MaxInlineBytes)
	if errors.Is(err, blobstore.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, storeError(err, "", uri)
	}
	if err := proto.Unmarshal(body, target); err != nil {
		return false, rpc.DataLoss(err, "%s is damaged: it holds no %s", uri, target.ProtoReflect().Descriptor().Name())
	}
	return true, nil
}
