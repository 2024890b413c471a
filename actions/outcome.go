package actions

import (
	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/status"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// outcome is the result of a call to the runs service: the status that the response carries, or the error of the call.
func outcome(body *status.Status, err error) error {
	if err != nil {
		return err
	}
	if body.GetCode() == 0 {
		return nil
	}
	return &rpc.Error{Kind: kindOf(connect.Code(body.GetCode())), Message: body.GetMessage()} //nolint:gosec // a code is small
}

func kindOf(code connect.Code) rpc.Kind {
	for kind := rpc.KindInternal; kind <= rpc.KindCanceled; kind++ {
		if kind.Code() == code {
			return kind
		}
	}
	return rpc.KindInternal
}

// enqueueAnswer maps the outcome of recording an action to the code that the SDK handles correctly. The SDK treats no
// error and already_exists as success, aborted as the end of the run, and invalid_argument and not_found as an action
// that cannot exist. It retries resource_exhausted for as long as it takes, and every other code for many minutes.
func enqueueAnswer(body *status.Status, err error) error {
	failure := outcome(body, err)
	if failure == nil {
		return nil
	}
	kind := rpc.KindOf(failure)
	switch {
	case kind == rpc.KindAlreadyExists:
		return nil
	case err != nil && (kind == rpc.KindAborted || kind == rpc.KindFailedPrecondition):
		// The call failed, which says nothing about the run.
		return rpc.Unavailable(failure, "the action could not be recorded; try again")
	case kind == rpc.KindAborted, kind == rpc.KindFailedPrecondition:
		return rpc.Aborted("%s", message(failure, "the run or the parent action has ended"))
	case kind == rpc.KindResourceExhausted, kind == rpc.KindNotFound, kind == rpc.KindInvalidArgument, kind == rpc.KindPermissionDenied,
		kind == rpc.KindUnauthenticated, kind == rpc.KindUnimplemented:
		return failure
	default:
		return rpc.Unavailable(failure, "the action could not be recorded; try again")
	}
}

func message(err error, fallback string) string {
	if text := rpc.StatusOf(err).GetMessage(); text != "" {
		return text
	}
	return fallback
}
