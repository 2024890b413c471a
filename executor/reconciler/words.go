package reconciler

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

// clusterEvent is one warning among the cluster events of an attempt.
func clusterEvent(at time.Time, reason, message string) *workflow.ClusterEvent {
	return &workflow.ClusterEvent{
		OccurredAt: timestamppb.New(at), Reason: reason, Message: message,
		Type: workflow.ClusterEvent_TYPE_WARNING, SourceComponent: "executor", Count: 1,
	}
}
