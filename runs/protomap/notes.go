package protomap

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

// Note is what people should know about an action although nothing failed. It is shown among the cluster events of the
// action's first attempt.
type Note struct {
	Reason, Message string
}

// noteSource tells notes from what the cluster said.
const noteSource = "runs"

// Notes encodes notes as the event with which an action is recorded; nil for none.
func Notes(notes []Note, at time.Time) ([]byte, error) {
	if len(notes) == 0 {
		return nil, nil
	}
	event := &workflow.ActionEvent{}
	for _, note := range notes {
		event.ClusterEvents = append(event.ClusterEvents, &workflow.ClusterEvent{
			OccurredAt: timestamppb.New(at), Reason: note.Reason, Message: note.Message,
			Type: workflow.ClusterEvent_TYPE_WARNING, SourceComponent: noteSource, Count: 1,
		})
	}
	return proto.Marshal(event)
}

// IsNote reports whether a cluster event is a note, which says nothing about the cluster.
func IsNote(event *workflow.ClusterEvent) bool { return event.GetSourceComponent() == noteSource }
