package tracked

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobaccess"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/protomap"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Places checks that a project and a domain accept runs; projects.Places does.
type Places interface {
	AcceptsRuns(ctx context.Context, field, project, domain string) error
}

// Access decides which URIs a request may name; blobaccess.Rules does.
type Access interface {
	Data(field, uri string, place blobaccess.Place, handed ...string) error
	Code(field, uri string, place blobaccess.Place, handed ...string) error
}

// Tasks reads deployed tasks; catalog.TaskReader of the installation's own runs does.
type Tasks interface {
	TaskDetails(ctx context.Context, project, domain, name, version string) (*catalog.Task, []byte, error)
}

// RunWriter stores runs; store.Writer does.
type RunWriter interface {
	CreateRun(ctx context.Context, run store.NewRun) (root *schema.Root, created bool, err error)
}

// RowReader reads one action; lists.Reader does.
type RowReader interface {
	ActionRow(ctx context.Context, id ident.Action) (*schema.Action, error)
}

// Creator creates tracked runs. All fields are required.
type Creator struct {
	// Root is the URI prefix of the object store.
	Root   string
	Places Places
	Access Access
	Tasks  Tasks
	Writer RunWriter
	Rows   RowReader
}

// CreateRun implements workflowconnect.TrackedRunServiceHandler. A repeated request with the same name and content
// returns the run that exists; the same name with other content returns AlreadyExists.
func (c *Creator) CreateRun(ctx context.Context, request *workflow.CreateTrackedRunRequest) (*workflow.CreateRunResponse, error) {
	id, err := c.ident(ctx, request)
	if err != nil {
		return nil, err
	}
	run, err := c.newRun(ctx, id, request)
	if err != nil {
		return nil, err
	}
	created, isNew, err := c.Writer.CreateRun(ctx, run)
	if err != nil {
		return nil, err
	}
	var row *schema.Action
	if isNew {
		row = &created.Action
	} else if row, err = c.Rows.ActionRow(ctx, id.Root()); err != nil {
		return nil, err
	}
	response, err := protomap.Run(row, run.Root.Labels)
	if err != nil {
		return nil, err
	}
	return &workflow.CreateRunResponse{Run: response}, nil
}

// ident is the name of the new run: the client's, or a generated one in the client's project. The project must accept runs.
func (c *Creator) ident(ctx context.Context, request *workflow.CreateTrackedRunRequest) (ident.Run, error) {
	var id ident.Run
	field := "run_id"
	switch given := request.GetId().(type) {
	case *workflow.CreateTrackedRunRequest_RunId:
		id = ident.RunOf(given.RunId)
		switch {
		case !ident.IsName(id.Name):
			return id, rpc.InvalidArgument("run_id.name", "the name of a run %s; got %q", ident.NameRule, id.Name)
		case id.Name[0] == 'u' || id.Name[0] == 'r':
			return id, rpc.InvalidArgument("run_id.name", "must not begin with u or r, which are reserved; got %q", id.Name)
		}
	case *workflow.CreateTrackedRunRequest_ProjectId:
		field = "project_id"
		var random [8]byte
		if _, err := rand.Read(random[:]); err != nil {
			return id, rpc.Internal(err, "generating a random run name failed")
		}
		id = ident.Run{Project: given.ProjectId.GetName(), Domain: given.ProjectId.GetDomain(), Name: "local-" + hex.EncodeToString(random[:])}
	default:
		return id, rpc.InvalidArgument("id", "a run or a project is required")
	}
	return id, c.Places.AcceptsRuns(ctx, field, id.Project, id.Domain)
}

func (c *Creator) newRun(ctx context.Context, id ident.Run, request *workflow.CreateTrackedRunRequest) (store.NewRun, error) {
	root := schema.Root{Labels: request.GetLabels()}
	root.Project, root.Domain, root.RunName, root.Name = id.Project, id.Domain, id.Name, ident.RootAction
	root.Source = int16(workflow.RunSource_RUN_SOURCE_TRACKED)
	root.Runner = schema.RunnerClient
	root.RunOutputBase = blobpath.TrackedRun(c.Root, id.Project, id.Domain, id.Name)
	spec, err := c.describeTask(ctx, id, request, &root.Action)
	if err != nil {
		return store.NewRun{}, err
	}
	specs := []store.NewSpec{spec}
	if proto.Size(request.GetRunSpec()) > 0 {
		encoded, err := encodeSpec(schema.SpecRun, "run_spec", request.GetRunSpec())
		if err != nil {
			return store.NewRun{}, err
		}
		root.RunSpecDigest = encoded.Digest
		specs = append(specs, encoded)
	}
	root.InputURI = root.RunOutputBase + ident.RootAction
	if uri := request.GetOffloadedInputData().GetUri(); uri != "" {
		if err := c.Access.Data("offloaded_input_data.uri", blobpath.InputsPath(uri), placeOf(id)); err != nil {
			return store.NewRun{}, err
		}
		root.InputURI = uri
	}
	if started := request.GetRunStartTime(); started != nil {
		if err := started.CheckValid(); err != nil {
			return store.NewRun{}, rpc.InvalidArgument("run_start_time", "%s", err.Error())
		}
		root.RunStartTime = protomap.Time(started)
	}
	if root.Notes, err = begun(id.Root(), request.GetRunStartTime()); err != nil {
		return store.NewRun{}, err
	}
	root.CreatedBySubject = caller.Subject(ctx)
	if root.CreatedBy, err = caller.Encoded(ctx); err != nil {
		return store.NewRun{}, err
	}
	root.RequestDigest, err = requestDigest(request)
	return store.NewRun{Root: root, Specs: specs}, err
}

// describeTask takes the task of a run: a deployed one, or one that came with the request.
func (c *Creator) describeTask(ctx context.Context, id ident.Run, request *workflow.CreateTrackedRunRequest, a *schema.Action) (store.NewSpec, error) {
	given, deployed := request.GetTask().(*workflow.CreateTrackedRunRequest_TaskId)
	if !deployed {
		return describeTask("task_spec", id, nil, request.GetTaskSpec(), c.Access, a)
	}
	row, body, err := c.Tasks.TaskDetails(ctx, given.TaskId.GetProject(), given.TaskId.GetDomain(), given.TaskId.GetName(), given.TaskId.GetVersion())
	if err != nil {
		return store.NewSpec{}, err
	}
	spec := &task.TaskSpec{}
	if err := proto.Unmarshal(body, spec); err != nil {
		return store.NewSpec{}, rpc.DataLoss(err, "the stored spec of task %s cannot be read", row.Name)
	}
	resolved := &task.TaskIdentifier{Project: row.Project, Domain: row.Domain, Name: row.Name, Version: row.Version}
	return describeTask("task_id", id, resolved, spec, nil, a)
}

// begun is the first event of an action: it waits for the report that it runs.
func begun(id ident.Action, at *timestamppb.Timestamp) ([]byte, error) {
	body, err := proto.Marshal(&workflow.ActionEvent{
		Id: id.Proto(), Attempt: 1, Phase: common.ActionPhase_ACTION_PHASE_QUEUED, UpdatedTime: at,
	})
	if err != nil {
		return nil, rpc.Internal(err, "the event cannot be encoded")
	}
	return body, nil
}

// requestDigest distinguishes requests with different content.
func requestDigest(request *workflow.CreateTrackedRunRequest) ([]byte, error) {
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

func placeOf(run ident.Run) blobaccess.Place {
	return blobaccess.Place{Project: run.Project, Domain: run.Domain}
}
