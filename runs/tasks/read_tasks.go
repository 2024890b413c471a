package tasks

import (
	"cmp"
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
)

// GetTaskDetails implements taskconnect.TaskServiceHandler.
func (h *Handler) GetTaskDetails(ctx context.Context, request *task.GetTaskDetailsRequest) (*task.GetTaskDetailsResponse, error) {
	id := request.GetTaskId()
	row, body, err := h.reader.TaskDetails(ctx, id.GetProject(), id.GetDomain(), id.GetName(), id.GetVersion())
	if err != nil {
		return nil, err
	}
	var spec task.TaskSpec
	if err := proto.Unmarshal(body, &spec); err != nil {
		return nil, rpc.DataLoss(err, "the stored spec of task %s cannot be read", row.Name)
	}
	metadata, err := taskMetadata(row)
	if err != nil {
		return nil, err
	}
	if err := h.summarise(ctx, &task.Task{TaskId: taskID(row), Metadata: metadata}); err != nil {
		return nil, err
	}
	return &task.GetTaskDetailsResponse{Details: &task.TaskDetails{TaskId: taskID(row), Metadata: metadata, Spec: &spec}}, nil
}

// ListTasks implements taskconnect.TaskServiceHandler. Filters look at the latest version of each task only.
func (h *Handler) ListTasks(ctx context.Context, request *task.ListTasksRequest) (*task.ListTasksResponse, error) {
	scope := catalog.TaskScope{Project: request.GetProjectId().GetName(), Domain: request.GetProjectId().GetDomain()}
	for _, known := range request.GetKnownFilters() {
		switch by := known.GetFilterBy().(type) {
		case *task.ListTasksRequest_KnownFilter_DeployedBy:
			scope.DeployedBy = &by.DeployedBy
		case *task.ListTasksRequest_KnownFilter_IsEntrypoint:
			scope.IsEntrypoint = &by.IsEntrypoint
		}
	}
	page, err := h.reader.ListTasks(ctx, scope, request.GetRequest())
	if err != nil {
		return nil, err
	}
	response := &task.ListTasksResponse{
		Token: page.Token,
		Metadata: &task.ListTasksResponse_ListTasksMetadata{
			Total: uint32(page.Total), FilteredTotal: uint32(page.Filtered), //nolint:gosec // counts of rows
		},
	}
	for i := range page.Tasks {
		row := &page.Tasks[i]
		metadata, err := taskMetadata(&row.Task)
		if err != nil {
			return nil, err
		}
		listed := &task.Task{TaskId: taskID(&row.Task), Metadata: metadata}
		if run := row.LatestRun; run != nil {
			listed.TaskSummary = &task.TaskSummary{LatestRun: &task.LatestRunSummary{
				RunId:        &common.RunIdentifier{Project: run.Project, Domain: run.Domain, Name: run.Name},
				RunTime:      timestamppb.New(run.CreatedAt),
				Phase:        common.ActionPhase(run.Phase),
				RootTaskName: row.Name,
			}}
		}
		response.Tasks = append(response.Tasks, listed)
	}
	return response, h.summarise(ctx, response.GetTasks()...)
}

// ListVersions implements taskconnect.TaskServiceHandler.
func (h *Handler) ListVersions(ctx context.Context, request *task.ListVersionsRequest) (*task.ListVersionsResponse, error) {
	name := request.GetTaskName()
	rows, token, err := h.reader.ListVersions(ctx, name.GetProject(), name.GetDomain(), name.GetName(), request.GetRequest())
	if err != nil {
		return nil, err
	}
	response := &task.ListVersionsResponse{Token: token}
	for i := range rows {
		metadata, err := taskMetadata(&rows[i].Task)
		if err != nil {
			return nil, err
		}
		response.Versions = append(response.Versions, &task.ListVersionsResponse_VersionResponse{
			Version: rows[i].Version, DeployedAt: metadata.GetDeployedAt(), DeployedBy: metadata.GetDeployedBy(),
		})
	}
	return response, nil
}

func taskID(row *catalog.Task) *task.TaskIdentifier {
	return &task.TaskIdentifier{Project: row.Project, Domain: row.Domain, Name: row.Name, Version: row.Version}
}

func taskMetadata(row *catalog.Task) (*task.TaskMetadata, error) {
	deployedBy := &common.EnrichedIdentity{}
	if err := proto.Unmarshal(row.DeployedBy, deployedBy); err != nil {
		return nil, rpc.DataLoss(err, "who deployed task %s cannot be read", row.Name)
	}
	return &task.TaskMetadata{
		DeployedBy:       deployedBy,
		ShortName:        cmp.Or(row.ShortName, row.FunctionName),
		DeployedAt:       timestamppb.New(row.CreatedAt),
		EnvironmentName:  row.EnvironmentName,
		ShortDescription: row.ShortDescription,
	}, nil
}
