package events

import (
	"context"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow/workflowconnect"
)

type handler struct{ sink *Sink }

var _ workflowconnect.EventsProxyServiceHandler = (*handler)(nil)

// Record implements EventsProxyService. Events that do not advance their action are not an error.
func (h *handler) Record(ctx context.Context, r *workflow.RecordRequest) (*workflow.RecordResponse, error) {
	transitions := make([]*enginev1.Transition, len(r.GetEvents()))
	for i, event := range r.GetEvents() {
		transitions[i] = &enginev1.Transition{Event: event} // the runs service derives the error from the event
	}
	if _, err := h.sink.Record(ctx, transitions); err != nil {
		return nil, err
	}
	return &workflow.RecordResponse{}, nil
}
