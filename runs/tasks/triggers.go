package tasks

import (
	"context"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Triggers deploys and summarizes the triggers of tasks; enginev1connect.TaskTriggerServiceClient does.
type Triggers interface {
	ApplyTaskTriggers(ctx context.Context, r *enginev1.ApplyTaskTriggersRequest) (*enginev1.ApplyTaskTriggersResponse, error)
	SummariseTaskTriggers(ctx context.Context, r *enginev1.SummariseTaskTriggersRequest) (*enginev1.SummariseTaskTriggersResponse, error)
}

// applyTriggers makes the triggers of a request those of its task, or only checks them.
func (h *Handler) applyTriggers(ctx context.Context, request *task.DeployTaskRequest, checkOnly bool) error {
	switch count := len(request.GetTriggers()); {
	case h.triggers == nil && count > 0:
		return rpc.Unimplemented("task %s has %d trigger(s), which this server cannot run; deploy it without them", request.GetTaskId().GetName(), count)
	case h.triggers == nil, checkOnly && count == 0:
		return nil
	}
	id, spec := request.GetTaskId(), request.GetSpec()
	if !checkOnly {
		// A version that exists may differ from the request; its triggers run what is stored.
		stored, err := h.GetTaskDetails(ctx, &task.GetTaskDetailsRequest{TaskId: id})
		if err != nil {
			return err
		}
		spec = stored.GetDetails().GetSpec()
	}
	_, err := h.triggers.ApplyTaskTriggers(ctx, &enginev1.ApplyTaskTriggersRequest{
		TaskId: id, Spec: spec, Triggers: request.GetTriggers(), CheckOnly: checkOnly,
	})
	return err
}

// summarise fills in the triggers of tasks, with one call for a whole page.
func (h *Handler) summarise(ctx context.Context, tasks ...*task.Task) error {
	if h.triggers == nil || len(tasks) == 0 {
		return nil
	}
	request := &enginev1.SummariseTaskTriggersRequest{}
	for _, t := range tasks {
		id := t.GetTaskId()
		request.Tasks = append(request.Tasks, &task.TaskName{Project: id.GetProject(), Domain: id.GetDomain(), Name: id.GetName()})
	}
	found, err := h.triggers.SummariseTaskTriggers(ctx, request)
	if err != nil {
		return err
	}
	type key struct{ project, domain, name string }
	summaries := map[key]*task.TaskTriggersSummary{}
	for _, s := range found.GetTasks() {
		name := s.GetTask()
		summaries[key{name.GetProject(), name.GetDomain(), name.GetName()}] = s.GetSummary()
	}
	for _, t := range tasks {
		id := t.GetTaskId()
		t.GetMetadata().TriggersSummary = summaries[key{id.GetProject(), id.GetDomain(), id.GetName()}]
	}
	return nil
}
