package launch

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobaccess"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/codebundle"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Access decides which URIs a request may name; blobaccess.Rules does.
type Access interface {
	Data(field, uri string, place blobaccess.Place, handed ...string) error
	Code(field, uri string, place blobaccess.Place, handed ...string) error
	Base(field, base string, place blobaccess.Place) error
	RawBase(field, base string, place blobaccess.Place) error
}

func placeOf(run ident.Run) blobaccess.Place {
	return blobaccess.Place{Project: run.Project, Domain: run.Domain}
}

// CodeReader reads what says which code a run was handed; lists.Reader does.
type CodeReader interface {
	Roots
	Spec(ctx context.Context, digest []byte) ([]byte, error)
}

// codeAccess checks the code of tasks whose spec came with a request. All fields are required.
type codeAccess struct {
	access Access
	tasks  Tasks
	specs  CodeReader
}

// check refuses code that the project has not uploaded. A run may be handed code of another project: that of a deployed
// task which the spec names and changes, and that of the actions that the new one comes from. They are only looked up if
// the code is not the project's own.
func (c codeAccess) check(ctx context.Context, field string, run ident.Run, planned *plannedTask, from ...ident.Action) error {
	uri := codebundle.URI(planned.spec.GetTaskTemplate())
	if uri == "" {
		return nil
	}
	refusal := c.access.Code(field, uri, placeOf(run))
	if refusal == nil {
		return nil
	}
	handed, err := c.deployed(ctx, planned.id)
	if err != nil || handed == uri {
		return err
	}
	for _, action := range from {
		if handed, err = c.ran(ctx, action); err != nil || handed == uri {
			return err
		}
	}
	return refusal
}

// deployed is the code of a deployed task; empty when there is no such task.
func (c codeAccess) deployed(ctx context.Context, id *task.TaskIdentifier) (string, error) {
	_, body, err := c.tasks.TaskDetails(ctx, id.GetProject(), id.GetDomain(), id.GetName(), id.GetVersion())
	if rpc.IsNotFound(err) {
		return "", nil
	}
	return bundleOf(body, err)
}

// ran is the code of the task of an action; empty when there is no such action.
func (c codeAccess) ran(ctx context.Context, id ident.Action) (string, error) {
	row, err := c.specs.ActionRow(ctx, id)
	if rpc.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return bundleOf(c.specs.Spec(ctx, row.SpecDigest))
}

func bundleOf(body []byte, err error) (string, error) {
	if err != nil {
		return "", err
	}
	var spec task.TaskSpec
	if err := proto.Unmarshal(body, &spec); err != nil {
		return "", rpc.DataLoss(err, "a stored task spec cannot be read")
	}
	return codebundle.URI(spec.GetTaskTemplate()), nil
}

// checkBases refuses directories of a run in which it must not write.
func (c *Creator) checkBases(ctx context.Context, run ident.Run, spec *task.RunSpec) error {
	if run.Project == blobpath.UploadsName {
		return rpc.FailedPrecondition("cannot create run: project name %s is reserved for uploads in the object store", run.Project)
	}
	if base := spec.GetRunBaseDir(); base != "" {
		if err := c.Access.Base("run_spec.run_base_dir", base, placeOf(run)); err != nil {
			return err
		}
	}
	if prefix := spec.GetRawDataStorage().GetRawDataPrefix(); prefix != "" {
		return c.Access.RawBase("run_spec.raw_data_storage.raw_data_prefix", prefix, placeOf(run))
	}
	return nil
}

// checkInputs refuses inputs that the new run may not read. It may read those of its project and domain, also below its
// own base directory and that of the run it comes from. Whether there are any is seen when they are read.
func (c *Creator) checkInputs(ctx context.Context, root *schema.Root, uri string) error {
	const field = "offloaded_input_data.uri"
	run := ident.Run{Project: root.Project, Domain: root.Domain, Name: root.RunName}
	file, own := blobpath.InputsPath(uri), blobaccess.Siblings(root.RunOutputBase)
	refusal := c.Access.Data(field, file, placeOf(run), own)
	if refusal == nil || root.RelationRun == "" {
		return refusal
	}
	run.Name = root.RelationRun
	source, err := c.Storage.Storage(ctx, run.Root())
	if err != nil {
		return err
	}
	return c.Access.Data(field, file, placeOf(run), own, blobaccess.Siblings(source.RunOutputBase), handedFile(source.InputURI))
}

// handedFile is the file of inputs that an action was handed; empty when it has none.
func handedFile(inputURI string) string {
	if inputURI == "" {
		return ""
	}
	return blobpath.InputsPath(inputURI)
}
