package verdict

import (
	"context"
	"fmt"
	"slices"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

// Assignments reads the assignments of live actions from the runs service; enginev1connect.EngineServiceClient does.
type Assignments interface {
	GetAssignments(ctx context.Context, request *enginev1.GetAssignmentsRequest) (*enginev1.GetAssignmentsResponse, error)
}

// Over reports whether the reporter has nothing more to do: the action is no longer live, or it runs elsewhere.
func Over(outcomes []enginev1.TransitionOutcome) bool {
	return slices.ContainsFunc(outcomes, func(o enginev1.TransitionOutcome) bool {
		return o == enginev1.TransitionOutcome_TRANSITION_OUTCOME_TERMINAL || o == enginev1.TransitionOutcome_TRANSITION_OUTCOME_UNKNOWN_ACTION ||
			o == enginev1.TransitionOutcome_TRANSITION_OUTCOME_REFUSED
	})
}

// Stale reports whether everything in a report had been recorded before.
func Stale(outcomes []enginev1.TransitionOutcome) bool {
	return !slices.ContainsFunc(outcomes, func(o enginev1.TransitionOutcome) bool {
		return o != enginev1.TransitionOutcome_TRANSITION_OUTCOME_STALE
	})
}

// Recount returns which attempt of an action waits, with the failure counts of the runs service, for a report that an earlier
// attempt was lost and that was Stale. Usually the report was sent twice, and the result is what the caller has. But an
// earlier reporter may have recorded the loss without our knowledge: a TaskAction that was deleted meanwhile, or a server that
// died. Then what is recorded may be a failure of the task where we saw one of the system, and without its count the task
// would get one retry too many. The result is nil if no attempt waits: the action has ended, or one has begun without us.
func Recount(ctx context.Context, from Assignments, uid int64) (*Count, error) {
	response, err := from.GetAssignments(ctx, &enginev1.GetAssignmentsRequest{Uids: []int64{uid}})
	if err != nil {
		return nil, fmt.Errorf("read the failure counts: %w", err)
	}
	if len(response.GetAssignments()) == 0 || response.GetAssignments()[0].GetBegun() {
		return nil, nil //nolint:nilnil // no attempt waits
	}
	waiting := CountOf(response.GetAssignments()[0])
	return &waiting, nil
}

// CountOf is the attempt of an assignment.
func CountOf(assigned *enginev1.Assignment) Count {
	//nolint:gosec // attempts are few
	return Count{max(1, int32(assigned.GetAttempt())), int32(assigned.GetUserFailures()), int32(assigned.GetSystemFailures())}
}
