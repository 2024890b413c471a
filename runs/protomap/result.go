package protomap

import (
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// ErrorInfo is the public form of an error.
func ErrorInfo(err *core.ExecutionError) *workflow.ErrorInfo {
	kind := workflow.ErrorInfo_KIND_UNSPECIFIED
	switch err.GetKind() {
	case core.ExecutionError_USER:
		kind = workflow.ErrorInfo_KIND_USER
	case core.ExecutionError_SYSTEM:
		kind = workflow.ErrorInfo_KIND_SYSTEM
	case core.ExecutionError_UNKNOWN:
	}
	return &workflow.ErrorInfo{Message: err.GetMessage(), Kind: kind, Code: err.GetCode(), GpuFault: err.GetGpuFault()}
}

// setResult sets the result of the action: its error, who aborted it, or its signal.
func setResult(out *workflow.ActionDetails, a *schema.Action) error {
	switch common.ActionPhase(a.Phase) {
	case common.ActionPhase_ACTION_PHASE_FAILED, common.ActionPhase_ACTION_PHASE_TIMED_OUT:
		info, err := failure(a, out.GetAttempts())
		if err != nil {
			return err
		}
		out.Result = &workflow.ActionDetails_ErrorInfo{ErrorInfo: info}
	case common.ActionPhase_ACTION_PHASE_ABORTED:
		info := &workflow.AbortInfo{Reason: a.AbortReason}
		if err := decodeOptional(a, a.AbortedBy, &info.AbortedBy); err != nil {
			return err
		}
		out.Result = &workflow.ActionDetails_AbortInfo{AbortInfo: info}
	default:
		if len(a.Signal) == 0 {
			return nil
		}
		var stored enginev1.StoredSignal
		if err := decode(a, a.Signal, &stored); err != nil {
			return err
		}
		info := &workflow.SignalInfo{SignalledBy: stored.GetSignalledBy(), Output: stored.GetOutput()}
		out.Result = &workflow.ActionDetails_SignalInfo{SignalInfo: info}
	}
	return nil
}

// failure is the error of the action: that of the row, else that of the newest attempt that has one, else a default,
// since clients always show one.
func failure(a *schema.Action, attempts []*workflow.ActionAttempt) (*workflow.ErrorInfo, error) {
	if len(a.Error) > 0 {
		var stored core.ExecutionError
		if err := decode(a, a.Error, &stored); err != nil {
			return nil, err
		}
		return ErrorInfo(&stored), nil
	}
	for i := len(attempts) - 1; i >= 0; i-- {
		if info := attempts[i].GetErrorInfo(); info != nil {
			return info, nil
		}
	}
	if common.ActionPhase(a.Phase) == common.ActionPhase_ACTION_PHASE_TIMED_OUT {
		return &workflow.ErrorInfo{Message: "the action did not end in time", Kind: workflow.ErrorInfo_KIND_USER, Code: "TimedOut"}, nil
	}
	return &workflow.ErrorInfo{Message: "the action failed without an error message"}, nil
}

// Failure is the error of an action that failed or timed out, from its row alone. It is never nil.
func Failure(a *schema.Action) (*workflow.ErrorInfo, error) { return failure(a, nil) }
