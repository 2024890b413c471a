package launch

import (
	"cmp"
	"context"

	"google.golang.org/protobuf/proto"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/store"
)

// Triggers reads triggers; triggerconnect.TriggerServiceClient does.
type Triggers interface {
	GetTriggerDetails(ctx context.Context, r *trigger.GetTriggerDetailsRequest) (*trigger.GetTriggerDetailsResponse, error)
}

// startedBy is where the request for a run came from.
type startedBy struct {
	// asked is the request as the client sent it: a repeated one is recognised by it.
	asked *workflow.CreateRunRequest
	// trigger is the revision that the run comes from; nil for most runs.
	trigger *common.TriggerIdentifier
	// kickoff is the input that is the start time of the run, if the trigger names one.
	kickoff string
	// checkOnly stores nothing.
	checkOnly bool
}

func (o startedBy) describe(root *store.Root) {
	if o.trigger == nil {
		return
	}
	root.TriggerName, root.TriggerTaskName = o.trigger.GetName().GetName(), o.trigger.GetName().GetTaskName()
	root.TriggerRevision = int64(o.trigger.GetRevision()) //nolint:gosec // counts from 1
}

// fromTrigger completes a request that names a trigger: its task, and what the request leaves out of inputs and options.
// The trigger may be inactive. Requests that name no trigger are returned as they are.
func (c *Creator) fromTrigger(ctx context.Context, request *workflow.CreateRunRequest) (*workflow.CreateRunRequest, startedBy, error) {
	from := startedBy{asked: request}
	named, ok := request.GetTask().(*workflow.CreateRunRequest_TriggerName)
	if !ok {
		return request, from, nil
	}
	name := named.TriggerName
	project := cmp.Or(request.GetRunId().GetProject(), request.GetProjectId().GetName())
	domain := cmp.Or(request.GetRunId().GetDomain(), request.GetProjectId().GetDomain())
	if name.GetProject() != project || name.GetDomain() != domain {
		return nil, from, rpc.InvalidArgument("trigger_name", "trigger %s is not in project %s and domain %s, as the new run is", name.GetName(), project, domain)
	}
	if c.Triggers == nil {
		return nil, from, rpc.NotFound("trigger %s of task %s does not exist", name.GetName(), name.GetTaskName())
	}
	response, err := c.Triggers.GetTriggerDetails(ctx, &trigger.GetTriggerDetailsRequest{Name: name})
	if err != nil {
		return nil, from, err
	}
	found := response.GetTrigger()
	from.trigger, from.kickoff = found.GetId(), found.GetAutomationSpec().GetSchedule().GetKickoffTimeInputArg()
	completed := proto.CloneOf(request)
	completed.Task = &workflow.CreateRunRequest_TaskId{TaskId: &task.TaskIdentifier{
		Project: name.GetProject(), Domain: name.GetDomain(), Name: name.GetTaskName(), Version: found.GetSpec().GetTaskVersion(),
	}}
	if completed.GetRunSpec() == nil {
		completed.RunSpec = found.GetSpec().GetRunSpec()
	}
	if completed.InputWrapper == nil {
		switch inputs := found.GetSpec().GetInputWrapper().(type) {
		case *trigger.TriggerSpec_Inputs:
			completed.InputWrapper = &workflow.CreateRunRequest_Inputs{Inputs: inputs.Inputs}
		case *trigger.TriggerSpec_OffloadedInputData:
			completed.InputWrapper = &workflow.CreateRunRequest_OffloadedInputData{OffloadedInputData: inputs.OffloadedInputData}
		}
	}
	return completed, from, nil
}

// StartTriggeredRun implements enginev1connect.TriggerRunServiceHandler.
func (c *Creator) StartTriggeredRun(ctx context.Context, request *enginev1.StartTriggeredRunRequest) (*enginev1.StartTriggeredRunResponse, error) {
	asked := request.GetRun()
	from := startedBy{
		asked: asked, trigger: request.GetTrigger(), kickoff: request.GetKickoffTimeInputArg(), checkOnly: request.GetCheckOnly(),
	}
	run, err := c.create(ctx, asked, from)
	if rpc.IsAlreadyExists(err) {
		run, err = c.sameSlot(ctx, asked, from, err)
	}
	if err != nil {
		return nil, err
	}
	return &enginev1.StartTriggeredRunResponse{Run: run}, nil
}

// sameSlot returns the run that exists, if it is of the same trigger: its name says that it is of the same slot, though the
// trigger may have been another revision when it was created.
func (c *Creator) sameSlot(ctx context.Context, asked *workflow.CreateRunRequest, from startedBy, refusal error) (*workflow.Run, error) {
	row, err := c.Tasks.ActionRow(ctx, ident.RunOf(asked.GetRunId()).Root())
	if err != nil {
		return nil, err
	}
	name := from.trigger.GetName()
	if row.TriggerName != name.GetName() || row.TriggerTaskName != name.GetTaskName() {
		return nil, refusal
	}
	return protomap.Run(row, nil)
}
