package verdict

import (
	"github.com/flyte-binary/flyte-binary/attempts/failure"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

// Transition adds to the event of a lost attempt why it was lost.
func Transition(event *workflow.ActionEvent, f *failure.Failure) *enginev1.Transition {
	kind := workflow.ErrorInfo_KIND_SYSTEM
	if f.IsUsers() {
		kind = workflow.ErrorInfo_KIND_USER
	}
	event.ErrorInfo = &workflow.ErrorInfo{Message: f.Message, Kind: kind, Code: f.Code}
	whole := f.Proto()
	whole.Timestamp = event.GetUpdatedTime()
	if pod := event.GetLogContext().GetPrimaryPodName(); pod != "" {
		whole.Worker = pod
	}
	return &enginev1.Transition{Event: event, Error: whole}
}
