package events

import (
	"context"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
)

// unknownCode is the code of an error whose reporter gave none.
const unknownCode = "Unknown"

type handler struct{ sink *Sink }

var _ workflowconnect.EventsProxyServiceHandler = (*handler)(nil)

// Record implements EventsProxyService. Events that do not advance their action are no error.
func (h *handler) Record(ctx context.Context, r *workflow.RecordRequest) (*workflow.RecordResponse, error) {
	transitions := make([]*enginev1.Transition, len(r.GetEvents()))
	for i, event := range r.GetEvents() {
		transitions[i] = &enginev1.Transition{Event: event, Error: errorOf(event)}
	}
	if _, err := h.sink.Record(ctx, transitions); err != nil {
		return nil, err
	}
	return &workflow.RecordResponse{}, nil
}

// errorOf is the error of an attempt that failed, made of what the event says; nil for every other phase.
func errorOf(event *workflow.ActionEvent) *core.ExecutionError {
	phase := event.GetPhase()
	if phase != common.ActionPhase_ACTION_PHASE_FAILED && phase != common.ActionPhase_ACTION_PHASE_TIMED_OUT {
		return nil
	}
	info := event.GetErrorInfo()
	result := &core.ExecutionError{
		Code:      info.GetCode(),
		Message:   info.GetMessage(),
		Timestamp: event.GetUpdatedTime(),
		GpuFault:  info.GetGpuFault(),
	}
	if result.GetCode() == "" {
		result.Code = unknownCode
	}
	switch info.GetKind() {
	case workflow.ErrorInfo_KIND_USER:
		result.Kind = core.ExecutionError_USER
	case workflow.ErrorInfo_KIND_SYSTEM:
		result.Kind = core.ExecutionError_SYSTEM
	}
	return result
}
