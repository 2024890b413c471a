package triggers

import (
	"context"
	"fmt"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	triggerpb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/triggers/store"
)

// maxTaskTriggers is how many triggers a task may be deployed with. They change in one transaction, under the lock of
// the task.
const maxTaskTriggers = 200

// ApplyTaskTriggers implements enginev1connect.TaskTriggerServiceHandler. Triggers that were deployed without their task
// are neither deleted nor, by the name of one of the request, left: a trigger of the request takes their place.
func (h *handler) ApplyTaskTriggers(ctx context.Context, r *enginev1.ApplyTaskTriggersRequest) (*enginev1.ApplyTaskTriggersResponse, error) {
	id := r.GetTaskId()
	of := store.Task{Project: id.GetProject(), Domain: id.GetDomain(), Name: id.GetName()}
	if n := len(r.GetTriggers()); n > maxTaskTriggers {
		return nil, rpc.InvalidArgument("triggers", "a task has at most %d triggers, got %d", maxTaskTriggers, n)
	}
	now := h.clock.Now()
	wanted := map[string]*deployment{}
	var order []*deployment
	for i, given := range r.GetTriggers() {
		d := &deployment{
			task: of, name: given.GetName(), prefix: fmt.Sprintf("triggers[%d].", i), withTask: true, spec: specOf(given.GetSpec(), id.GetVersion()),
			automation: given.GetAutomationSpec(), taskSpec: r.GetSpec(), stored: !r.GetCheckOnly(),
		}
		if d.name == "" {
			return nil, d.invalid("name", "is required")
		}
		if wanted[d.name] != nil {
			return nil, d.invalid("name", "%q is the name of another trigger of this task", d.name)
		}
		if err := h.check(ctx, d, now); err != nil {
			return nil, err
		}
		wanted[d.name] = d
		order = append(order, d)
	}
	// Only now: a check has to find the same mistakes as a deployment.
	if r.GetCheckOnly() {
		return &enginev1.ApplyTaskTriggersResponse{}, nil
	}
	err := h.change(ctx, []store.Task{of}, func(triggers []*store.Trigger) ([]store.Change, error) {
		var changes []store.Change
		for _, d := range order {
			change, err := h.deploy(ctx, byName(triggers, of, d.name), d, now)
			if err != nil {
				return nil, err
			}
			if change.Action != 0 {
				changes = append(changes, change)
			}
		}
		for _, t := range triggers {
			// A trigger that came with an earlier version of the task and is not in this one was removed from the code.
			if t.DeletedAt != nil || !t.WithTask || wanted[t.Name] != nil {
				continue
			}
			change, err := h.delete(ctx, t, now)
			if err != nil {
				return nil, err
			}
			changes = append(changes, change)
		}
		return changes, nil
	})
	return &enginev1.ApplyTaskTriggersResponse{}, err
}

// specOf is the spec of a trigger that comes with its task.
func specOf(given *task.TaskTriggerSpec, version string) *triggerpb.TriggerSpec {
	spec := &triggerpb.TriggerSpec{
		RunSpec: given.GetRunSpec(), Active: given.GetActive(), TaskVersion: version, Description: given.GetDescription(),
	}
	switch inputs := given.GetInputWrapper().(type) {
	case *task.TaskTriggerSpec_Inputs:
		spec.InputWrapper = &triggerpb.TriggerSpec_Inputs{Inputs: inputs.Inputs}
	case *task.TaskTriggerSpec_OffloadedInputData:
		spec.InputWrapper = &triggerpb.TriggerSpec_OffloadedInputData{OffloadedInputData: inputs.OffloadedInputData}
	}
	return spec
}

// SummariseTaskTriggers implements enginev1connect.TaskTriggerServiceHandler.
func (h *handler) SummariseTaskTriggers(ctx context.Context, r *enginev1.SummariseTaskTriggersRequest) (*enginev1.SummariseTaskTriggersResponse, error) {
	tasks := make([]store.Task, 0, len(r.GetTasks()))
	for _, name := range r.GetTasks() {
		tasks = append(tasks, store.Task{Project: name.GetProject(), Domain: name.GetDomain(), Name: name.GetName()})
	}
	found, err := h.store.Summaries(ctx, tasks)
	if err != nil {
		return nil, err
	}
	answer := &enginev1.SummariseTaskTriggersResponse{}
	for _, s := range found {
		summary := &task.TaskTriggersSummary{Summary: &task.TaskTriggersSummary_Stats{Stats: &task.TaskTriggersSummary_TriggerStats{
			Total: uint32(s.Total), Active: uint32(s.Active), //nolint:gosec // counts of rows
		}}}
		if s.Total == 1 {
			automated, err := automation(&store.Trigger{Name: s.Name, Automation: s.Automation})
			if err != nil {
				return nil, err
			}
			summary.Summary = &task.TaskTriggersSummary_Details{Details: &task.TaskTriggersSummary_TriggerDetails{
				Name: s.Name, Active: s.Active == 1, AutomationSpec: automated,
			}}
		}
		answer.Tasks = append(answer.Tasks, &enginev1.SummariseTaskTriggersResponse_Task{
			Task: &task.TaskName{Project: s.Project, Domain: s.Domain, Name: s.Task.Name}, Summary: summary,
		})
	}
	return answer, nil
}
