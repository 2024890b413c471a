package launch

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/declared"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// preparedRun is a new run while it is checked. Nothing of it is stored.
type preparedRun struct {
	request *workflow.CreateRunRequest
	from    startedBy

	id      ident.Run
	spec    *task.RunSpec   // the request's, completed by settings
	notes   []protomap.Note // about the options
	base    string          // the directory below which the run writes, other than the root of the store; empty for that one
	planned *plannedTask
	root    schema.Root
	context *runContext
	specs   []store.NewSpec
}

// step checks one fact of a new run, and records what follows from it.
type step func(ctx context.Context, p *preparedRun) error

// steps are everything that can be checked before the inputs are written, in this order: the first step that refuses answers
// the request. A step uses what those before it recorded.
func (c *Creator) steps() []step {
	return []step{
		c.stepName,
		c.stepSource,
		c.stepOptions,
		c.stepSettings,
		c.stepTask,
		c.stepPod,
		c.stepNotifications,
		c.stepAuthor,
		c.stepRelation,
		c.stepBase,
		c.stepDirectories,
		c.stepCode,
		c.stepPlan,
		c.stepRecovery,
		c.stepInputs,
		c.stepData,
		c.stepRunSpec,
		c.stepStored,
		c.stepBacklog,
	}
}

// prepare takes the steps. A request that is refused leaves nothing.
func (c *Creator) prepare(ctx context.Context, request *workflow.CreateRunRequest, from startedBy) (*preparedRun, error) {
	p := &preparedRun{request: request, from: from}
	for _, check := range c.steps() {
		if err := check(ctx, p); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (c *Creator) stepName(ctx context.Context, p *preparedRun) (err error) {
	p.id, err = c.runIdent(ctx, p.request)
	p.root.Project, p.root.Domain, p.root.RunName = p.id.Project, p.id.Domain, p.id.Name
	return err
}

func (c *Creator) stepSource(_ context.Context, p *preparedRun) error {
	if p.request.GetSource() == workflow.RunSource_RUN_SOURCE_TRACKED {
		return rpc.InvalidArgument("source", "a tracked run is created with TrackedRunService")
	}
	p.root.Source = int16(p.request.GetSource()) //nolint:gosec // an enum of few values
	return nil
}

// stepOptions checks the options of the request. Those of settings were checked when they were stored.
func (c *Creator) stepOptions(_ context.Context, p *preparedRun) error {
	given := p.request.GetRunSpec()
	if err := checkRunSpec(given); err != nil {
		return err
	}
	notes, refusal := declared.Run(given)
	if refusal != nil {
		return refusal.In("run_spec")
	}
	p.notes = notes
	// People find runs by the labels that they gave; those of settings are for the cluster.
	p.root.Labels = given.GetLabels().GetValues()
	return nil
}

func (c *Creator) stepSettings(ctx context.Context, p *preparedRun) (err error) {
	p.spec, err = c.effectiveRunSpec(ctx, p.id, p.request.GetRunSpec())
	return err
}

func (c *Creator) stepTask(ctx context.Context, p *preparedRun) (err error) {
	if p.planned, err = c.plannedTask(ctx, p.id, p.request); err != nil {
		return err
	}
	p.planned.notes = append(p.planned.notes, p.notes...)
	p.planned.describe(&p.root.Action)
	p.specs = append(p.specs, store.NewSpec{Kind: schema.SpecTask, Digest: p.planned.digest, Body: p.planned.body})
	return nil
}

func (c *Creator) stepPod(_ context.Context, p *preparedRun) error {
	return c.reviewPod(p)
}

func (c *Creator) stepNotifications(_ context.Context, p *preparedRun) error {
	phases, notes, err := c.reviewNotifications(p.spec)
	p.root.Notify = phases
	p.planned.notes = append(p.planned.notes, notes...)
	return err
}

func (c *Creator) stepAuthor(ctx context.Context, p *preparedRun) error {
	return p.from.describe(ctx, &p.root)
}

func (c *Creator) stepRelation(ctx context.Context, p *preparedRun) error {
	return c.describeRun(ctx, &p.root, p.request, p.spec)
}

// stepDirectories derives the directory of the run from its request, so that a repeated request has the same.
func (c *Creator) stepDirectories(ctx context.Context, p *preparedRun) (err error) {
	if p.root.RequestDigest, err = requestDigest(p.from.asked); err != nil {
		return err
	}
	return c.describeBase(ctx, &p.root, p.spec, p.base)
}

// stepCode checks the code of a spec that came with the request. That of deployed tasks was checked when they were deployed.
func (c *Creator) stepCode(ctx context.Context, p *preparedRun) error {
	if p.request.GetTaskSpec() == nil {
		return nil
	}
	return c.code.check(ctx, "task_spec.task_template", p.id, p.planned, relatedRoot(&p.root)...)
}

func (c *Creator) stepPlan(_ context.Context, p *preparedRun) error {
	p.context = &runContext{ID: p.id, Spec: p.spec, OutputBase: p.root.RunOutputBase, Queue: p.root.Queue}
	return c.Planner.check(p.root.Action, p.context)
}

func (c *Creator) stepRunSpec(_ context.Context, p *preparedRun) error {
	if proto.Size(p.spec) == 0 {
		return nil
	}
	encoded, err := encodeSpec(schema.SpecRun, "run_spec", p.spec)
	p.root.RunSpecDigest = encoded.Digest
	p.specs = append(p.specs, encoded)
	return err
}

func (c *Creator) stepRecovery(ctx context.Context, p *preparedRun) (err error) {
	p.context.Recovery, err = c.Planner.Recoveries.of(ctx, p.id, notCreated, p.spec)
	return err
}

// stepBacklog is the last step, so that only runs that would be created count. Services,
// which start the runs of triggers, pace themselves. A repeated request gets the run that exists.
func (c *Creator) stepBacklog(ctx context.Context, p *preparedRun) error {
	if c.Backlog == nil || p.from.checkOnly {
		return nil
	}
	identity, caller := authz.IdentityFrom(ctx), ""
	if identity.Kind == authz.User || identity.Kind == authz.Key {
		caller = identity.Subject
	}
	err := c.Backlog.Enter(ctx, p.id.Project, caller)
	if err == nil || identity.Kind == authz.Service {
		return nil
	}
	return c.unlessCreated(ctx, p, err)
}

// stepStored holds for the runs of triggers, too: their slots wait until there is room.
func (c *Creator) stepStored(ctx context.Context, p *preparedRun) error {
	if c.Stored == nil || p.from.checkOnly {
		return nil
	}
	err := c.Stored.EnterRun(ctx, p.id.Project, p.root.CreatedBySubject, p.base, p.spec.GetRawDataStorage().GetRawDataPrefix())
	if err == nil {
		return nil
	}
	return c.unlessCreated(ctx, p, err)
}

// unlessCreated is the refusal of a run, but nothing for one that exists: its request is repeated.
func (c *Creator) unlessCreated(ctx context.Context, p *preparedRun, refusal error) error {
	if _, missing := c.Roots.ActionRow(ctx, p.id.Root()); missing == nil {
		return nil
	}
	return refusal
}

func (c *Creator) stepInputs(ctx context.Context, p *preparedRun) error {
	offloaded := p.request.GetOffloadedInputData()
	if offloaded == nil {
		return nil
	}
	return c.checkInputs(ctx, &p.root, offloaded.GetUri())
}
