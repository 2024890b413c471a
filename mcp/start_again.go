package mcp

import (
	"context"
	"slices"

	"google.golang.org/protobuf/proto"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

type rerunInput struct {
	runName
	Name string `json:"name,omitempty" jsonschema:"the name of the new run; a second call with the same name starts nothing. Made up by default"`
}

type recoverInput struct {
	rerunInput
	Force []string `json:"force,omitempty" jsonschema:"actions that must run again although they succeeded"`
}

type startedOutput struct {
	Run string `json:"run" jsonschema:"the name of the new run"`
	URL string `json:"url,omitempty"`
}

var (
	rerunTool   = changes("rerun_run", "Starts a run again, with the same code and inputs, and returns the new run.", rerun)
	recoverTool = changes("recover_run",
		"Starts a run again that reuses what succeeded in the old one and runs the rest. preview_recovery says what that is.", recoverRun)
	previewRecoveryTool = reads("preview_recovery", "Says what recover_run would reuse and what it would run again.", previewRecovery)
)

func rerun(ctx context.Context, s *session, in rerunInput) (startedOutput, error) {
	return s.startAgain(ctx, in, common.RelationType_RELATION_TYPE_RERUN, nil)
}

func recoverRun(ctx context.Context, s *session, in recoverInput) (startedOutput, error) {
	return s.startAgain(ctx, in.rerunInput, common.RelationType_RELATION_TYPE_RECOVER, in.Force)
}

// startAgain creates a run with the code, inputs and options of another.
func (s *session) startAgain(ctx context.Context, in rerunInput, relation common.RelationType, force []string) (out startedOutput, err error) {
	answer, err := s.runs.GetRunDetails(ctx, &workflow.GetRunDetailsRequest{RunId: in.runName.id()})
	if err != nil {
		return out, err
	}
	spec := answer.GetDetails().GetAction().GetTask()
	if spec == nil {
		return out, rpc.FailedPrecondition("run %s is not one of a task, and cannot be started again", in.Run)
	}
	data, err := s.data.GetActionData(ctx, &dataproxy.GetActionDataRequest{ActionId: in.action(rootAction)})
	if err != nil {
		return out, err
	}
	runSpec := relatedSpec(answer.GetDetails().GetRunSpec(), spec, in.runName.id(), relation, force)
	uploaded, err := s.data.UploadInputs(ctx, &dataproxy.UploadInputsRequest{
		Id:   &dataproxy.UploadInputsRequest_ProjectId{ProjectId: in.place.id()},
		Task: &dataproxy.UploadInputsRequest_TaskSpec{TaskSpec: spec}, Inputs: data.GetInputs(), BaseDir: runSpec.GetRunBaseDir(),
	})
	if err != nil {
		return out, err
	}
	request := &workflow.CreateRunRequest{
		Id: &workflow.CreateRunRequest_ProjectId{ProjectId: in.place.id()}, Task: &workflow.CreateRunRequest_TaskSpec{TaskSpec: spec},
		InputWrapper: &workflow.CreateRunRequest_OffloadedInputData{OffloadedInputData: uploaded.GetOffloadedInputData()}, RunSpec: runSpec,
	}
	if in.Name != "" {
		request.Id = &workflow.CreateRunRequest_RunId{RunId: &common.RunIdentifier{Project: in.Project, Domain: in.Domain, Name: in.Name}}
	}
	created, err := s.runs.CreateRun(ctx, request)
	if err != nil {
		return out, err
	}
	id := created.GetRun().GetAction().GetId().GetRun()
	return startedOutput{Run: id.GetName(), URL: s.link(id)}, nil
}

// pathVariable is one that deployed tasks have in their own spec. It must not be set twice.
const pathVariable = "_F_SYS_PATH"

// relatedSpec is the spec of a run that starts another again.
func relatedSpec(old *task.RunSpec, code *task.TaskSpec, run *common.RunIdentifier, relation common.RelationType, force []string) *task.RunSpec {
	spec := &task.RunSpec{}
	if old != nil {
		spec = proto.CloneOf(old)
	}
	spec.Relation, spec.Recover = &common.Relation{RelatedTo: run, RelationType: relation}, nil
	spec.RelatedTo = nil //nolint:staticcheck // older clients wrote it
	if len(force) > 0 {
		spec.Recover = &task.Recover{ForceRerunActions: force}
	}
	sets := func(v *core.KeyValuePair) bool { return v.GetKey() == pathVariable }
	if slices.ContainsFunc(code.GetTaskTemplate().GetContainer().GetEnv(), sets) && spec.GetEnvs() != nil {
		spec.Envs = &task.Envs{Values: slices.DeleteFunc(spec.GetEnvs().GetValues(), sets)}
	}
	return spec
}

type previewRecoveryInput struct {
	runName
	Force []string `json:"force,omitempty" jsonschema:"actions that must run again although they succeeded"`
	Page  string   `json:"page,omitempty" jsonschema:"the next_page of the answer before"`
}

type previewRecoveryOutput struct {
	Reused   int64           `json:"reused"`
	Rerun    int64           `json:"rerun"`
	Actions  []plannedOutput `json:"actions"`
	NextPage string          `json:"next_page,omitempty"`
}

type plannedOutput struct {
	Action string `json:"action"`
	Phase  string `json:"phase"`
	Reused bool   `json:"reused"`
	Reason string `json:"reason,omitempty"`
}

func previewRecovery(ctx context.Context, s *session, in previewRecoveryInput) (out previewRecoveryOutput, err error) {
	plan, err := s.insight.PreviewRecovery(ctx, &insightv1.PreviewRecoveryRequest{RunId: in.id(), ForceRerunActions: in.Force, Limit: 100, Token: in.Page})
	if err != nil {
		return out, err
	}
	out = previewRecoveryOutput{Reused: plan.GetReused(), Rerun: plan.GetRerun(), NextPage: plan.GetToken(), Actions: []plannedOutput{}}
	for _, a := range plan.GetActions() {
		out.Actions = append(out.Actions, plannedOutput{Action: a.GetName(), Phase: phaseName(a.GetPhase()), Reused: a.GetReused(), Reason: a.GetReason()})
	}
	return out, nil
}
