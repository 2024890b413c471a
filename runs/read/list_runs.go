package read

import (
	"context"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
)

// ListReader reads pages of runs and actions; lists.Reader does.
type ListReader interface {
	ListRuns(ctx context.Context, scope lists.RunScope, request *common.ListRequest) ([]lists.Listed, string, error)
	ListActions(ctx context.Context, run ident.Run, request *common.ListRequest) ([]lists.Listed, string, error)
}

// Lists serves the lists of RunService. Rows is required.
type Lists struct{ Rows ListReader }

// ListRuns implements workflowconnect.RunServiceHandler.
func (l *Lists) ListRuns(ctx context.Context, request *workflow.ListRunsRequest) (*workflow.ListRunsResponse, error) {
	rows, token, err := l.Rows.ListRuns(ctx, runScope(request), request.GetRequest())
	if err != nil {
		return nil, err
	}
	response := &workflow.ListRunsResponse{Token: token, Runs: make([]*workflow.Run, 0, len(rows))}
	for i := range rows {
		run, err := protomap.Run(&rows[i].Action, rows[i].Labels)
		if err != nil {
			return nil, err
		}
		response.Runs = append(response.Runs, run)
	}
	return response, nil
}

// runScope reads the scope. An organization means all projects, since there is only one.
func runScope(request *workflow.ListRunsRequest) lists.RunScope {
	scope := lists.RunScope{PausedOnly: request.GetPausedActionsOnly()}
	switch by := request.GetScopeBy().(type) {
	case *workflow.ListRunsRequest_ProjectId:
		scope.Project, scope.Domain = by.ProjectId.GetName(), by.ProjectId.GetDomain()
	case *workflow.ListRunsRequest_TriggerName:
		scope.Project, scope.Domain = by.TriggerName.GetProject(), by.TriggerName.GetDomain()
		scope.TriggerName, scope.TriggerTaskName = by.TriggerName.GetName(), by.TriggerName.GetTaskName()
	case *workflow.ListRunsRequest_TaskName:
		scope.Project, scope.Domain = by.TaskName.GetProject(), by.TaskName.GetDomain()
		scope.TaskName = by.TaskName.GetName()
	case *workflow.ListRunsRequest_TaskId:
		scope.Project, scope.Domain = by.TaskId.GetProject(), by.TaskId.GetDomain()
		scope.TaskName, scope.TaskVersion = by.TaskId.GetName(), by.TaskId.GetVersion()
	}
	return scope
}
