package engine

import (
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/internal/layout"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// Transition makes a change for the store of what an executor observed. failure may be nil; then the event's
// error_info stands in for it.
func Transition(event *workflow.ActionEvent, failure *core.ExecutionError) (store.Transition, error) {
	t := store.Transition{
		Action: ident.ActionOf(event.GetId()),
		To: state.Position{
			Attempt: int32(event.GetAttempt()), //nolint:gosec // validated to be small
			Phase:   state.Phase(event.GetPhase()),
			Version: int32(event.GetVersion()), //nolint:gosec // counts observations
		},
		At:          observedAt(event),
		OutputURI:   attemptDir(event.GetOutputs().GetOutputUri()),
		ReportURI:   event.GetOutputs().GetReportUri(),
		CacheStatus: int16(event.GetCacheStatus()), //nolint:gosec // an enum of few values
	}
	var err error
	if t.Event, err = proto.Marshal(event); err != nil {
		return t, rpc.Internal(err, "the event cannot be encoded")
	}
	if t.To.Phase != state.Failed && t.To.Phase != state.TimedOut {
		return t, nil
	}
	if failure == nil {
		failure = failureOf(event)
	}
	if t.Error, err = proto.Marshal(failure); err != nil {
		return t, rpc.Internal(err, "the error cannot be encoded")
	}
	return t, nil
}

func observedAt(event *workflow.ActionEvent) *time.Time {
	for _, stamp := range []*timestamppb.Timestamp{event.GetUpdatedTime(), event.GetReportedTime()} {
		if stamp != nil {
			at := stamp.AsTime().Truncate(time.Microsecond)
			return &at
		}
	}
	return nil
}

// attemptDir is the directory of an outputs file, as the contract wants it in updates.
func attemptDir(outputURI string) string {
	return strings.TrimRight(strings.TrimSuffix(outputURI, "/"+layout.OutputsFile), "/")
}

// failureOf makes an error of an event that came without one. There is always an error: clients would look for a
// file otherwise.
func failureOf(event *workflow.ActionEvent) *core.ExecutionError {
	info := event.GetErrorInfo()
	failure := &core.ExecutionError{
		Code:     info.GetCode(),
		Message:  info.GetMessage(),
		GpuFault: info.GetGpuFault(),
	}
	switch info.GetKind() {
	case workflow.ErrorInfo_KIND_USER:
		failure.Kind = core.ExecutionError_USER
	case workflow.ErrorInfo_KIND_SYSTEM:
		failure.Kind = core.ExecutionError_SYSTEM
	}
	if failure.GetCode() == "" {
		failure.Code = "Unknown"
	}
	if failure.GetMessage() == "" {
		failure.Message = "the attempt ended without an explanation"
	}
	return failure
}
