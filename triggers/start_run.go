package triggers

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	triggerpb "github.com/flyte-binary/flyte-binary/gen/flyteidl2/trigger"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/triggers/store"
)

// create creates the run, or finds that it exists. It belongs to the user who deployed the revision.
func (s *starter) create(ctx context.Context, d *decoded, f *store.Fire, version *artifact.Artifact) error {
	inputs, err := bindings(d.automation.GetArtifact(), f.Cause, version.GetSpec())
	if err != nil {
		return err
	}
	who, err := metadata(d.Trigger)
	if err != nil {
		return err
	}
	run := runOf(d, f)
	if from := sourceOf(version); from != nil && run.GetRunSpec().GetRelation() == nil {
		run.RunSpec.Relation = &common.Relation{RelatedTo: from, RelationType: common.RelationType_RELATION_TYPE_ON_ARTIFACT}
	}
	_, err = s.starts.StartTriggeredRun(ctx, &enginev1.StartTriggeredRunRequest{
		Run: run, Trigger: identifier(d.Trigger, d.Revision), Automation: d.automation, Inputs: inputs,
		KickoffTimeInputArg: d.automation.GetSchedule().GetKickoffTimeInputArg(), CreatedBy: who.GetDeployedBy(),
	})
	return err
}

// exists reports whether the run of a slot or a version exists and is the trigger's own.
func (s *starter) exists(ctx context.Context, d *decoded, f *store.Fire) (bool, error) {
	found, err := s.runs.GetRunDetails(ctx, &workflow.GetRunDetailsRequest{RunId: runID(d.Trigger, f)})
	if rpc.IsNotFound(err) {
		return false, nil
	}
	by := found.GetDetails().GetAction().GetMetadata().GetTriggerId().GetName()
	return by.GetName() == d.Name && by.GetTaskName() == d.Task.Name, err
}

// runOf is the request that creates the run of a slot.
func runOf(d *decoded, f *store.Fire) *workflow.CreateRunRequest {
	spec := &task.RunSpec{}
	if d.spec.GetRunSpec() != nil {
		spec = proto.CloneOf(d.spec.GetRunSpec())
	}
	spec.RunStartTime = nil // it is the slot
	source := workflow.RunSource_RUN_SOURCE_SCHEDULE_TRIGGER
	if d.automation.GetType() == task.TriggerAutomationSpecType_TYPE_ARTIFACT {
		source = workflow.RunSource_RUN_SOURCE_ARTIFACT_TRIGGER
	}
	request := &workflow.CreateRunRequest{
		Id: &workflow.CreateRunRequest_RunId{RunId: &common.RunIdentifier{Project: d.Project, Domain: d.Domain, Name: f.RunName}},
		Task: &workflow.CreateRunRequest_TaskId{TaskId: &task.TaskIdentifier{
			Project: d.Project, Domain: d.Domain, Name: d.Task.Name, Version: d.TaskVersion,
		}},
		RunSpec: spec, Source: source, RunStartTime: timestamppb.New(f.Slot),
	}
	switch inputs := d.spec.GetInputWrapper().(type) {
	case *triggerpb.TriggerSpec_Inputs:
		request.InputWrapper = &workflow.CreateRunRequest_Inputs{Inputs: inputs.Inputs}
	case *triggerpb.TriggerSpec_OffloadedInputData:
		request.InputWrapper = &workflow.CreateRunRequest_OffloadedInputData{OffloadedInputData: inputs.OffloadedInputData}
	}
	return request
}

func runID(t *store.Trigger, f *store.Fire) *common.RunIdentifier {
	return &common.RunIdentifier{Project: t.Project, Domain: t.Domain, Name: f.RunName}
}
