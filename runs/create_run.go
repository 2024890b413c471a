package runs

import (
	"context"
	"crypto/sha256"
	"regexp"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/project"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/failpoint"
	"github.com/flyte-binary/flyte-binary/internal/ident"
	"github.com/flyte-binary/flyte-binary/internal/layout"
	"github.com/flyte-binary/flyte-binary/internal/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/view"
)

// CreateRun implements workflowconnect.RunServiceHandler. A repeated request with the same name and content answers the
// run that exists; the same name with other content is already exists, and touches nothing of that run.
func (h *runHandler) CreateRun(ctx context.Context, request *workflow.CreateRunRequest) (*workflow.CreateRunResponse, error) {
	run, err := h.svc.createRun(ctx, request)
	if err != nil {
		return nil, err
	}
	return &workflow.CreateRunResponse{Run: run}, nil
}

func (s *Service) createRun(ctx context.Context, request *workflow.CreateRunRequest) (*workflow.Run, error) {
	id, err := s.runIdent(ctx, request)
	if err != nil {
		return nil, err
	}
	if err := checkRunSpec(request.GetRunSpec()); err != nil {
		return nil, err
	}
	spec, err := s.effectiveRunSpec(ctx, id, request.GetRunSpec())
	if err != nil {
		return nil, err
	}
	planned, err := s.plannedTask(ctx, id, request)
	if err != nil {
		return nil, err
	}
	// People find runs by the labels that they gave; those of settings are for the cluster.
	root := store.Root{Labels: request.GetRunSpec().GetLabels().GetValues()}
	root.Project, root.Domain, root.RunName = id.Project, id.Domain, id.Name
	root.Source = int16(request.GetSource()) //nolint:gosec // an enum of few values
	planned.describe(&root.Action)
	if err := s.describeRun(ctx, &root, request, spec); err != nil {
		return nil, err
	}
	inputsHash, err := s.storeInputs(ctx, &root, planned.spec, request)
	if err != nil {
		return nil, err
	}
	failpoint.Here("create-run.after-inputs")
	root.CacheKey = rootCacheKey(planned, inputsHash)
	run := &runContext{ID: id, Spec: spec, OutputBase: root.RunOutputBase, Queue: root.Queue}
	if run.Recovery, err = s.recoveryOf(ctx, id, notCreated, spec); err != nil {
		return nil, err
	}
	if err := s.planAction(ctx, &root.Action, planned, run); err != nil {
		return nil, err
	}
	traces, err := s.recoverTraces(ctx, run, &root.Action)
	if err != nil {
		return nil, err
	}
	specs := []store.NewSpec{{Kind: store.SpecTask, Digest: planned.digest, Body: planned.body}}
	if proto.Size(spec) > 0 {
		digest, body, err := store.EncodeSpec(store.SpecRun, spec)
		if err != nil {
			return nil, rpc.InvalidArgument("run_spec", "cannot be encoded: %s", err.Error())
		}
		root.RunSpecDigest = digest
		specs = append(specs, store.NewSpec{Kind: store.SpecRun, Digest: digest, Body: body})
	}
	created, isNew, err := s.writer.CreateRun(ctx, store.NewRun{Root: root, Specs: specs, Traces: traces})
	if err != nil {
		return nil, err
	}
	if isNew {
		return view.Run(&created.Action, created.Labels)
	}
	row, err := s.lists.ActionRow(ctx, id.Root())
	if err != nil {
		return nil, err
	}
	return view.Run(row, root.Labels)
}

// runName is what a DNS label may be, which names of pods are made of.
var runName = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// maxRunName is the length of a run's name in characters.
const maxRunName = 30

// runIdent is the name of the new run: the client's, or one of ours in the client's project. The project must take runs.
func (s *Service) runIdent(ctx context.Context, request *workflow.CreateRunRequest) (ident.Run, error) {
	var id ident.Run
	field := "run_id"
	switch given := request.GetId().(type) {
	case *workflow.CreateRunRequest_RunId:
		id = ident.RunOf(given.RunId)
		if len(id.Name) > maxRunName || !runName.MatchString(id.Name) {
			return id, rpc.InvalidArgument("run_id.name",
				"a run's name has up to %d lower case letters, digits and dashes, begins with a letter and does not end with a dash", maxRunName)
		}
	case *workflow.CreateRunRequest_ProjectId:
		field = "project_id"
		name, err := newRunName()
		if err != nil {
			return id, err
		}
		id = ident.Run{Project: given.ProjectId.GetName(), Domain: given.ProjectId.GetDomain(), Name: name}
	default:
		return id, rpc.InvalidArgument("id", "a run or a project is needed")
	}
	if err := s.checkPlace(ctx, field, id.Project, id.Domain); err != nil {
		return id, err
	}
	p, err := s.projects.Get(ctx, id.Project)
	if err != nil {
		return id, err
	}
	switch project.ProjectState(p.State) {
	case project.ProjectState_PROJECT_STATE_ARCHIVED, project.ProjectState_PROJECT_STATE_SYSTEM_ARCHIVED:
		return id, rpc.FailedPrecondition("project %s is archived and takes no new runs", id.Project)
	}
	return id, nil
}

// checkRunSpec checks what the contract's rules cannot say.
func checkRunSpec(spec *task.RunSpec) error {
	if spec.GetMaxActionConcurrency() == 1 {
		return rpc.InvalidArgument("run_spec.max_action_concurrency", "is 0 for no limit, or at least 2")
	}
	if spec.GetMaxActionConcurrency() > 1<<30 {
		return rpc.InvalidArgument("run_spec.max_action_concurrency", "is too large")
	}
	return nil
}

// describeRun fills in what only a root has.
func (s *Service) describeRun(ctx context.Context, root *store.Root, request *workflow.CreateRunRequest, spec *task.RunSpec) (err error) {
	root.MaxConcurrency = int32(spec.GetMaxActionConcurrency()) //nolint:gosec // checked
	root.Queue = spec.GetQueue()
	if root.RunStartTime = timeOf(spec.GetRunStartTime()); root.RunStartTime == nil {
		root.RunStartTime = timeOf(request.GetRunStartTime())
	}
	if err := s.describeRelation(ctx, root, spec); err != nil {
		return err
	}
	base := s.blobs.Root()
	if own := spec.GetRunBaseDir(); own != "" {
		base = own
	}
	root.RunOutputBase = layout.RunBase(base, root.Project, root.Domain, root.RunName)
	if err := s.checkReachable(ctx, "run_spec.run_base_dir", root.RunOutputBase); err != nil {
		return err
	}
	root.CreatedBySubject = callerSubject(ctx)
	if root.CreatedBy, err = encodedCaller(ctx); err != nil {
		return err
	}
	root.RequestDigest, err = requestDigest(request)
	return err
}

// requestDigest tells requests with different content apart. A start time that the client took from its clock is no
// content: repeated requests may have another.
func requestDigest(request *workflow.CreateRunRequest) ([]byte, error) {
	content := proto.CloneOf(request)
	content.RunStartTime = nil
	if id := content.GetRunId(); id != nil {
		id.Org = ""
	}
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(content)
	if err != nil {
		return nil, rpc.InvalidArgument("", "the request cannot be encoded: %s", err.Error())
	}
	digest := sha256.Sum256(body)
	return digest[:], nil
}
