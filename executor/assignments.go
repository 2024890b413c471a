package executor

import (
	"context"

	"github.com/flyte-binary/flyte-binary/attempts/verdict"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
)

// ofCluster asks for assignments in the name of a cluster: those of other clusters are left out.
type ofCluster struct {
	verdict.Assignments
	cluster string
}

// GetAssignments implements verdict.Assignments.
func (a ofCluster) GetAssignments(ctx context.Context, request *enginev1.GetAssignmentsRequest) (*enginev1.GetAssignmentsResponse, error) {
	return a.Assignments.GetAssignments(ctx, &enginev1.GetAssignmentsRequest{Uids: request.GetUids(), Cluster: a.cluster})
}
