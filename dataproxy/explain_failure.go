package dataproxy

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/dataproxy/traceback"
	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1/insightv1connect"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

const (
	// maxExplained bounds the text of a log in which ExplainFailure looks for a traceback, in bytes.
	maxExplained = 64 << 20
	// explainWait is how long ExplainFailure waits for a log that is not stored yet.
	explainWait = 10 * time.Second
	// explainedAtOnce bounds the logs that are searched at the same time.
	explainedAtOnce = 4
)

// failuresHandler serves FailureService.
type failuresHandler struct{ svc *Service }

var _ insightv1connect.FailureServiceHandler = (*failuresHandler)(nil)

// errEnoughRead ends the reading of a log that is too long.
var errEnoughRead = errors.New("the log is longer than what is searched for a traceback")

// ExplainFailure implements FailureService. Of tracebacks in the log it takes the last one of the exception that the attempt reported,
// and the last of all otherwise.
func (h *failuresHandler) ExplainFailure(ctx context.Context, r *insightv1.ExplainFailureRequest) (*insightv1.ExplainFailureResponse, error) {
	id := r.GetActionId()
	if id.GetRun() == nil || id.GetName() == "" {
		return nil, rpc.InvalidArgument("action_id", "the run and the name are required")
	}
	found, err := h.svc.deps.Runs.GetActionDetails(ctx, &workflow.GetActionDetailsRequest{ActionId: id})
	if err != nil {
		return nil, err
	}
	attempt, err := failed(found.GetDetails(), r.GetAttempt())
	if err != nil {
		return nil, err
	}
	if attempt.GetErrorInfo() == nil {
		return &insightv1.ExplainFailureResponse{}, nil
	}
	// A place for each log that is read at the same time: reading is what a call costs.
	select {
	case h.svc.explaining <- struct{}{}:
		defer func() { <-h.svc.explaining }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return h.search(ctx, &dataproxy.TailLogsRequest{ActionId: id, Attempt: attempt.GetAttempt()}, attempt.GetErrorInfo().GetCode())
}

// failed is an attempt by number, 0 for the latest.
func failed(details *workflow.ActionDetails, number uint32) (*workflow.ActionAttempt, error) {
	attempts := details.GetAttempts()
	if number == 0 && len(attempts) > 0 {
		return attempts[len(attempts)-1], nil
	}
	for _, attempt := range attempts {
		if attempt.GetAttempt() == number {
			return attempt, nil
		}
	}
	if number == 0 {
		return nil, nil //nolint:nilnil // an action without attempts, which has no failure to explain
	}
	return nil, rpc.NotFound("action %s has no attempt %d", details.GetId().GetName(), number)
}

// search looks for the traceback in the log of the primary container.
func (h *failuresHandler) search(ctx context.Context, log *dataproxy.TailLogsRequest, code string) (*insightv1.ExplainFailureResponse, error) {
	waiting, cancel := context.WithTimeout(ctx, explainWait)
	defer cancel()
	scanner, read := traceback.NewScanner(code), 0
	err := h.svc.tailLogs(waiting, log, func(message *dataproxy.TailLogsResponse) error {
		for _, logs := range message.GetLogs() {
			for _, line := range logs.GetLines() {
				scanner.Line(strings.TrimSuffix(line.GetMessage(), "\n"))
				read += len(line.GetMessage())
			}
		}
		if read > maxExplained {
			return errEnoughRead
		}
		return nil
	})
	partial := read > maxExplained
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case rpc.IsNotFound(err): // it had no pod, or its log was not kept
		return &insightv1.ExplainFailureResponse{}, nil
	case err != nil && !partial:
		return nil, err
	}
	response := &insightv1.ExplainFailureResponse{Partial: partial}
	if chain, ok := scanner.Found(); ok {
		response.LogLine = uint32(chain.Line) //nolint:gosec // a count of lines
		for _, one := range chain.Exceptions {
			response.Exceptions = append(response.Exceptions, exceptionMessage(one))
		}
	}
	return response, nil
}

func exceptionMessage(e traceback.Exception) *insightv1.RaisedException {
	message := &insightv1.RaisedException{Type: e.Type, Message: e.Message, Relation: relations[e.Relation]}
	for _, f := range e.Frames {
		message.Frames = append(message.Frames, &insightv1.StackFrame{
			File: f.File, Line: uint32(f.Line), Function: f.Function, Code: f.Code, Own: f.Own, //nolint:gosec // a line of a file
		})
	}
	return message
}

var relations = map[traceback.Relation]insightv1.ExceptionRelation{
	traceback.None:    insightv1.ExceptionRelation_EXCEPTION_RELATION_UNSPECIFIED,
	traceback.Cause:   insightv1.ExceptionRelation_EXCEPTION_RELATION_CAUSE,
	traceback.Context: insightv1.ExceptionRelation_EXCEPTION_RELATION_CONTEXT,
}
