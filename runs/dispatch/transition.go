package dispatch

import (
	"cmp"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// Transition converts what an executor observed into a change for the store. failure may be nil; then the error of a
// failed attempt is derived from the event's error_info.
func Transition(event *workflow.ActionEvent, failure *core.ExecutionError) (store.Transition, error) {
	t := store.Transition{
		Action: ident.ActionOf(event.GetId()),
		To: state.Position{
			Attempt: int32(event.GetAttempt()),     //nolint:gosec // validated to be small
			Phase:   state.Phase(event.GetPhase()), //nolint:gosec // an enum of few values
			Version: int32(event.GetVersion()),     //nolint:gosec // counts observations
		},
		Cluster:     cmp.Or(event.GetCluster(), ident.DefaultCluster),
		At:          protomap.Time(cmp.Or(event.GetUpdatedTime(), event.GetReportedTime())),
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

// attemptDir is the directory of an outputs file, as the contract wants it in updates.
func attemptDir(outputURI string) string {
	return strings.TrimRight(strings.TrimSuffix(outputURI, "/"+blobpath.OutputsFile), "/")
}

// failureOf derives the error of a failed attempt from its event. It is never empty: clients would look for a file
// otherwise.
func failureOf(event *workflow.ActionEvent) *core.ExecutionError {
	info := event.GetErrorInfo()
	failure := &core.ExecutionError{
		Code:      info.GetCode(),
		Message:   info.GetMessage(),
		Timestamp: event.GetUpdatedTime(),
		GpuFault:  info.GetGpuFault(),
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
