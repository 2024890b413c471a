package read

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
)

// ListActions implements workflowconnect.RunServiceHandler.
func (l *Lists) ListActions(ctx context.Context, request *workflow.ListActionsRequest) (*workflow.ListActionsResponse, error) {
	rows, token, err := l.Rows.ListActions(ctx, ident.RunOf(request.GetRunId()), request.GetRequest())
	if err != nil {
		return nil, err
	}
	response := &workflow.ListActionsResponse{Token: token, Actions: make([]*workflow.Action, 0, len(rows))}
	for i := range rows {
		action, err := protomap.Action(&rows[i].Action, rows[i].Condition)
		if err != nil {
			return nil, err
		}
		response.Actions = append(response.Actions, action)
	}
	return response, nil
}
