package reconciler

import (
	"context"
	"fmt"

	v1 "github.com/flyte-binary/flyte-binary/executor/api/v1"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

// Assignments reads the assignments of live actions from the runs service.
type Assignments interface {
	GetAssignments(ctx context.Context, request *enginev1.GetAssignmentsRequest) (*enginev1.GetAssignmentsResponse, error)
}

// recount takes the failure counts of the next attempt from the runs service, which turned out to have recorded the loss of
// the attempt before it already. Usually our own report was sent twice, and the counts do not change. But an earlier
// TaskAction of the action may have been deleted while it reported the loss, and this one was created from an assignment
// that was read before the report was committed. The recorded loss may then be a failure of the task where we saw one of the
// system, and without its count the task would get one retry too many. Behind means that the action has ended or has gone on
// to another attempt.
func (r *Reconciler) recount(ctx context.Context, uid int64, next *v1.TaskActionStatus) (behind bool, err error) {
	response, err := r.deps.Assignments.GetAssignments(ctx, &enginev1.GetAssignmentsRequest{Uids: []int64{uid}})
	if err != nil {
		return false, fmt.Errorf("read the failure counts: %w", err)
	}
	if len(response.GetAssignments()) == 0 {
		return true, nil
	}
	current := response.GetAssignments()[0]
	if int64(current.GetAttempt()) != int64(next.Attempt) || current.GetBegun() {
		return true, nil
	}
	next.UserFailures, next.SystemFailures = int32(current.GetUserFailures()), int32(current.GetSystemFailures()) //nolint:gosec // as few as attempts
	return false, nil
}
