package launch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"regexp"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/settings"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/worklists"
)

// Places checks that a project and a domain accept runs; projects.Places does.
type Places interface {
	AcceptsRuns(ctx context.Context, field, project, domain string) error
}

// Settings resolves the settings of a place; settings.Resolver does.
type Settings interface {
	Resolve(ctx context.Context, key catalog.SettingsKey) (settings.Resolved, error)
}

// Tasks reads deployed tasks; catalog.TaskReader does.
type Tasks interface {
	TaskDetails(ctx context.Context, project, domain, name, version string) (*catalog.Task, []byte, error)
}

// Roots reads the root actions of runs; lists.Reader does.
type Roots interface {
	ActionRow(ctx context.Context, id ident.Action) (*schema.Action, error)
}

// Storage says where the data of an action are; worklists.LiveReader does.
type Storage interface {
	Storage(ctx context.Context, id ident.Action) (worklists.Storage, error)
}

// Inputs is where inline inputs are written, and others are; blobstore.Store is one.
type Inputs interface {
	// Root is the URI prefix of all objects, without a trailing slash.
	Root() string
	WriteAll(ctx context.Context, uri string, body []byte) error
	ReadAll(ctx context.Context, uri string, limit int64) ([]byte, error)
}

// RunWriter stores runs; store.Writer does.
type RunWriter interface {
	CreateRun(ctx context.Context, run store.NewRun) (root *schema.Root, created bool, err error)
}

// Calls counts the calls in flight; precedence.Calls does.
type Calls interface {
	Begin() (end func())
}

// Backlog knows how much projects and callers have under way; backlog.Backlog does.
type Backlog interface {
	// Enter counts a run that is about to be created, or returns an error when the project or the caller is at a limit. A caller
	// without a limit of its own has no name.
	Enter(ctx context.Context, project, caller string) error
}

// Stored knows how much projects and callers have in the object store; stored.Guard does.
type Stored interface {
	// EnterRun returns an error when a project, or the caller whose run it is, has as much as it may. bases are the directories below which the run writes, other than
	// the root of the store; empty ones are none.
	EnterRun(ctx context.Context, project, caller string, bases ...string) error
}

// Creator creates runs. All fields but Pods, Notifications, Triggers, Backlog and Stored are required.
type Creator struct {
	Config   Config
	Places   Places
	Settings Settings
	Tasks    Tasks
	Roots    Roots
	Storage  Storage
	Inputs   Inputs
	Access   Access
	Writer   RunWriter
	Planner  *Planner
	Calls    Calls
	Pods     Pods
	// Notifications may be nil.
	Notifications Notifications
	// Triggers reads triggers for runs that are started by their name; nil means that there are none.
	Triggers Triggers
	// Backlog may be nil.
	Backlog Backlog
	// Stored may be nil.
	Stored Stored

	code codeAccess
}

// CreateRun implements workflowconnect.RunServiceHandler. A repeated request with the same name and content returns the
// run that exists; the same name with other content returns AlreadyExists and changes nothing of that run.
func (c *Creator) CreateRun(ctx context.Context, request *workflow.CreateRunRequest) (*workflow.CreateRunResponse, error) {
	defer c.Calls.Begin()()
	resolved, from, err := c.fromTrigger(ctx, request)
	if err != nil {
		return nil, err
	}
	run, err := c.create(ctx, resolved, from)
	if err != nil {
		return nil, err
	}
	return &workflow.CreateRunResponse{Run: run}, nil
}

// create stores a run, its inputs first.
func (c *Creator) create(ctx context.Context, request *workflow.CreateRunRequest, from startedBy) (*workflow.Run, error) {
	prepared, err := c.prepare(ctx, request, from)
	if err != nil {
		return nil, err
	}
	root, planned := prepared.root, prepared.planned
	inputsHash, uses, err := c.storeInputs(ctx, &root, planned.spec, request, from.inputs)
	if err != nil {
		return nil, err
	}
	failpoint.Here("create-run.after-inputs")
	if root.CacheKey, err = c.rootCacheKey(ctx, &root, planned, request, from, inputsHash); err != nil {
		return nil, err
	}
	if err := c.Planner.plan(ctx, &root.Action, planned, prepared.context); err != nil {
		return nil, err
	}
	traces, err := c.Planner.Recoveries.traces(ctx, prepared.context, &root.Action)
	if err != nil {
		return nil, err
	}
	created, isNew, err := c.Writer.CreateRun(ctx, store.NewRun{Root: root, Specs: prepared.specs, Traces: traces, Uses: uses, ReadInputs: planned.readInputs(root.InputURI)})
	if err != nil {
		return nil, err
	}
	if isNew {
		return protomap.Run(&created.Action, created.Labels)
	}
	row, err := c.Roots.ActionRow(ctx, prepared.id.Root())
	if err != nil {
		return nil, err
	}
	return protomap.Run(row, root.Labels)
}

// runName is the format of a DNS label, since pod names contain the name of the run.
var runName = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// runIdent is the name of the new run: the client's, or a generated one in the client's project. The project must accept runs.
func (c *Creator) runIdent(ctx context.Context, request *workflow.CreateRunRequest) (ident.Run, error) {
	var id ident.Run
	field := "run_id"
	switch given := request.GetId().(type) {
	case *workflow.CreateRunRequest_RunId:
		id = ident.RunOf(given.RunId)
		if len(id.Name) > ident.MaxName || !runName.MatchString(id.Name) {
			return id, rpc.InvalidArgument("run_id.name",
				"a run's name has up to %d lower case letters, digits and dashes, begins with a letter and does not end with a dash", ident.MaxName)
		}
	case *workflow.CreateRunRequest_ProjectId:
		field = "project_id"
		name, err := newRunName()
		if err != nil {
			return id, err
		}
		id = ident.Run{Project: given.ProjectId.GetName(), Domain: given.ProjectId.GetDomain(), Name: name}
	default:
		return id, rpc.InvalidArgument("id", "a run or a project is required")
	}
	return id, c.Places.AcceptsRuns(ctx, field, id.Project, id.Domain)
}

// checkRunSpec validates what protovalidate cannot check.
func checkRunSpec(spec *task.RunSpec) error {
	if spec.GetMaxActionConcurrency() == 1 {
		return rpc.InvalidArgument("run_spec.max_action_concurrency", "must be 0 (no limit) or at least 2")
	}
	if spec.GetMaxActionConcurrency() > 1<<30 {
		return rpc.InvalidArgument("run_spec.max_action_concurrency", "is out of range")
	}
	return nil
}

// describeRun fills in the fields that only a root has.
func (c *Creator) describeRun(ctx context.Context, root *schema.Root, request *workflow.CreateRunRequest, spec *task.RunSpec) error {
	root.MaxConcurrency = int32(spec.GetMaxActionConcurrency()) //nolint:gosec // checked
	root.Queue = spec.GetQueue()
	if root.RunStartTime = protomap.Time(spec.GetRunStartTime()); root.RunStartTime == nil {
		root.RunStartTime = protomap.Time(request.GetRunStartTime())
	}
	return c.describeRelation(ctx, root, spec)
}

// describeBase fills in where the run writes.
func (c *Creator) describeBase(ctx context.Context, root *schema.Root, spec *task.RunSpec, base string) error {
	run := ident.Run{Project: root.Project, Domain: root.Domain, Name: root.RunName}
	if err := c.checkBases(ctx, run, spec); err != nil {
		return err
	}
	root.RunOutputBase = blobpath.RunBase(cmp.Or(base, c.Inputs.Root()), run.Project, run.Domain, blobpath.RunDir(run.Name, root.RequestDigest))
	return nil
}

// relatedRoot is the root action of the run that a new run comes from, if any.
func relatedRoot(root *schema.Root) []ident.Action {
	if root.RelationRun == "" {
		return nil
	}
	return []ident.Action{ident.Run{Project: root.Project, Domain: root.Domain, Name: root.RelationRun}.Root()}
}

// requestDigest distinguishes requests with different content. A start time that the client took from its clock does
// not count: a repeated request may have another.
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
