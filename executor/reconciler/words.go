package reconciler

import (
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/executor/failure"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
)

// retryWords say why an attempt was lost, when the next one begins, and how much of which budget is used.
func retryWords(lost *failure.Failure, pause time.Duration, used, budget int32) string {
	when := "next try at once"
	if pause > 0 {
		when = "next try in " + round(pause)
	}
	if lost.IsUsers() {
		return fmt.Sprintf("%s, %s, retry %d of %d of the task", lost.Code, when, used, budget)
	}
	return fmt.Sprintf("%s, %s, %d of %d attempts that the system may lose", lost.Code, when, used, budget)
}

// round formats a pause for users.
func round(pause time.Duration) string {
	if pause < time.Second {
		return pause.Round(time.Millisecond).String()
	}
	return fmt.Sprintf("%.0f s", math.Ceil(pause.Seconds()))
}

// clusterEvent is one warning among the cluster events of an attempt.
func clusterEvent(at time.Time, reason, message string) *workflow.ClusterEvent {
	return &workflow.ClusterEvent{
		OccurredAt: timestamppb.New(at), Reason: reason, Message: message,
		Type: workflow.ClusterEvent_TYPE_WARNING, SourceComponent: "executor", Count: 1,
	}
}
