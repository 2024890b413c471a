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
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Triggers reads triggers; triggerconnect.TriggerServiceClient does.
type Triggers interface {
	GetTriggerDetails(ctx context.Context, r *trigger.GetTriggerDetailsRequest) (*trigger.GetTriggerDetailsResponse, error)
}

// startedBy is where the request for a run came from.
type startedBy struct {
	// asked is the request as the client sent it: a repeated one is recognized by it.
	asked *workflow.CreateRunRequest
	// trigger is the revision that the run comes from; nil for most runs.
	trigger *common.TriggerIdentifier
	// automation says why the trigger fired.
	automation *task.TriggerAutomationSpec
	// kickoff is the input that is the start time of the run, if the trigger names one.
	kickoff string
	// inputs replace those of the request with the same names.
	inputs []*task.NamedLiteral
	// author is whose run it is; nil means the caller's.
	author *common.EnrichedIdentity
	// checkOnly stores nothing.
	checkOnly bool
}

// describe fills in whose run it is, and which trigger started it.
func (o startedBy) describe(ctx context.Context, root *schema.Root) (err error) {
	author := caller.Actor(ctx, o.author)
	root.CreatedBySubject = caller.SubjectOf(author)
	if root.CreatedBy, err = (proto.MarshalOptions{Deterministic: true}).Marshal(author); err != nil {
		return rpc.InvalidArgument("created_by", "cannot be encoded: %s", err.Error())
	}
	if o.trigger == nil {
		return nil
	}
	if root.TriggerAutomation, err = (proto.MarshalOptions{Deterministic: true}).Marshal(o.automation); err != nil {
		return rpc.InvalidArgument("automation", "cannot be encoded: %s", err.Error())
	}
	root.TriggerName, root.TriggerTaskName = o.trigger.GetName().GetName(), o.trigger.GetName().GetTaskName()
	root.TriggerRevision = int64(o.trigger.GetRevision()) //nolint:gosec // counts from 1
	return nil
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
		return nil, from, rpc.InvalidArgument("trigger_name", "trigger %s is not in project %s and domain %s of the new run", name.GetName(), project, domain)
	}
	if c.Triggers == nil {
		return nil, from, rpc.NotFound("trigger %s of task %s does not exist", name.GetName(), name.GetTaskName())
	}
	response, err := c.Triggers.GetTriggerDetails(ctx, &trigger.GetTriggerDetailsRequest{Name: name})
	if err != nil {
		return nil, from, err
	}
	found := response.GetTrigger()
	from.trigger, from.automation = found.GetId(), found.GetAutomationSpec()
	from.kickoff = from.automation.GetSchedule().GetKickoffTimeInputArg()
	completed := proto.CloneOf(request)
	completed.Task = &workflow.CreateRunRequest_TaskId{TaskId: &task.TaskIdentifier{
		Project: name.GetProject(), Domain: name.GetDomain(), Name: name.GetTaskName(), Version: found.GetSpec().GetTaskVersion(),
	}}
	if completed.GetRunSpec() == nil && found.GetSpec().GetRunSpec() != nil {
		completed.RunSpec = proto.CloneOf(found.GetSpec().GetRunSpec())
		completed.RunSpec.RunStartTime = nil // each run of a trigger has its own
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
		asked: asked, trigger: request.GetTrigger(), automation: request.GetAutomation(), kickoff: request.GetKickoffTimeInputArg(),
		inputs: request.GetInputs(), author: request.GetCreatedBy(), checkOnly: request.GetCheckOnly(),
	}
	if from.checkOnly {
		prepared, err := c.prepare(ctx, asked, from)
		if err != nil {
			return nil, err
		}
		return &enginev1.StartTriggeredRunResponse{Notes: words(prepared.planned.notes)}, nil
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

func words(notes []protomap.Note) (texts []string) {
	for _, note := range notes {
		texts = append(texts, note.Message)
	}
	return texts
}

// sameSlot returns the run that exists, if it is of the same trigger: its name says that it is of the same slot or version,
// though the trigger may have been another revision when it was created.
func (c *Creator) sameSlot(ctx context.Context, asked *workflow.CreateRunRequest, from startedBy, refusal error) (*workflow.Run, error) {
	row, err := c.Roots.ActionRow(ctx, ident.RunOf(asked.GetRunId()).Root())
	if err != nil {
		return nil, err
	}
	name := from.trigger.GetName()
	if row.TriggerName != name.GetName() || row.TriggerTaskName != name.GetTaskName() {
		return nil, refusal
	}
	return protomap.Run(row, nil)
}
