package launch

import (
	"bytes"
	"context"
	"errors"
	"math"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// recovery is where the results of a run that recovers another may come from. It never changes.
type recovery struct {
	// sources are the recovered run, the run that this one recovered, and so on.
	sources []recoverySource
	// again are the actions that must run again: those on the request's list and all above them.
	again map[string]bool
	// listed are the actions on the list that exist in a source. Unlike those that are only above them, they start
	// without any results: their traces must run again too.
	listed map[string]bool
}

type recoverySource struct {
	runID int64
	// again are the actions that this run itself had to run again: the results of older runs for them are out of
	// date.
	again map[string]bool
}

// ResultReader reads the results of other runs; lists.Reader does.
type ResultReader interface {
	RecoverySources(ctx context.Context, source ident.Run, younger int64) ([]lists.SourceRun, error)
	WithAncestors(ctx context.Context, runIDs []int64, names []string) ([]string, error)
	Results(ctx context.Context, runIDs []int64, name string) ([]schema.Result, error)
	TraceResults(ctx context.Context, runIDs []int64, parent string, limit int) ([]schema.Result, error)
}

// Objects reads the object store; blobstore.Store does.
type Objects interface {
	Stat(ctx context.Context, uri string) (blobstore.Info, error)
	ReadAll(ctx context.Context, uri string, limit int64) ([]byte, error)
}

// Recoveries finds results that a run may reuse. Both fields are required.
type Recoveries struct {
	Results ResultReader
	Objects Objects
}

// notCreated is the id of a run that is being created: every other run is older.
const notCreated = math.MaxInt64

// of finds the sources of a run; nil when it recovers none, or none is left.
func (rs *Recoveries) of(ctx context.Context, run ident.Run, runID int64, spec *task.RunSpec) (*recovery, error) {
	if spec.GetRelation().GetRelationType() != common.RelationType_RELATION_TYPE_RECOVER {
		return nil, nil //nolint:nilnil // most runs recover nothing
	}
	source := ident.Run{Project: run.Project, Domain: run.Domain, Name: spec.GetRelation().GetRelatedTo().GetName()}
	return rs.from(ctx, source, runID, spec.GetRecover().GetForceRerunActions())
}

// from finds the sources of a recovery of source by a run with the id younger; nil when none is left.
func (rs *Recoveries) from(ctx context.Context, source ident.Run, younger int64, force []string) (*recovery, error) {
	runs, err := rs.Results.RecoverySources(ctx, source, younger)
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	ids := make([]int64, len(runs))
	for i := range runs {
		ids[i] = runs[i].ID
	}
	r := &recovery{sources: make([]recoverySource, len(runs))}
	if r.again, err = rs.withAncestors(ctx, ids, force); err != nil {
		return nil, err
	}
	r.listed = map[string]bool{}
	for _, name := range force {
		if r.again[name] {
			r.listed[name] = true
		}
	}
	for i := range runs {
		r.sources[i].runID = runs[i].ID
		if i+1 == len(runs) || len(runs[i].RunSpec) == 0 {
			continue
		}
		var spec task.RunSpec
		if err := proto.Unmarshal(runs[i].RunSpec, &spec); err != nil {
			return nil, rpc.DataLoss(err, "the stored run spec of run %s cannot be read", runs[i].Name)
		}
		if r.sources[i].again, err = rs.withAncestors(ctx, ids[i+1:], spec.GetRecover().GetForceRerunActions()); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (rs *Recoveries) withAncestors(ctx context.Context, runIDs []int64, names []string) (map[string]bool, error) {
	if len(names) == 0 {
		return nil, nil
	}
	found, err := rs.Results.WithAncestors(ctx, runIDs, names)
	if err != nil {
		return nil, err
	}
	set := make(map[string]bool, len(found))
	for _, name := range found {
		set[name] = true
	}
	return set, nil
}

func (r *recovery) runIDs() []int64 {
	ids := make([]int64, len(r.sources))
	for i := range r.sources {
		ids[i] = r.sources[i].runID
	}
	return ids
}

// newest picks, from the results of one name, that of the nearest source; nil when there is none that counts.
func (r *recovery) newest(results []schema.Result, name string) *schema.Result {
	for i := range r.sources {
		for j := range results {
			if results[j].RunID == r.sources[i].runID && results[j].Name == name {
				return &results[j]
			}
		}
		if r.sources[i].again[name] {
			return nil
		}
	}
	return nil
}

// result reads how an action of the sources ended; nil when it must run again or did not end well.
func (rs *Recoveries) result(ctx context.Context, r *recovery, name string, parent *string) (*schema.Result, error) {
	if r == nil || r.again[name] {
		return nil, nil //nolint:nilnil // there is none
	}
	results, err := rs.Results.Results(ctx, r.runIDs(), name)
	if err != nil {
		return nil, err
	}
	found := r.newest(results, name)
	if found == nil || !good(found.Phase) || !sameText(found.ParentName, parent) {
		return nil, nil //nolint:nilnil // there is none
	}
	return found, nil
}

// good reports whether a phase has a reusable result.
func good(phase state.Phase) bool { return phase == state.Succeeded || phase == state.Recovered }

func sameText(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// origin is the encoded id of the action that really ran: a result that was itself recovered keeps its origin.
func origin(run ident.Run, found *schema.Result) ([]byte, error) {
	if found.Phase == state.Recovered && len(found.RecoveredFrom) > 0 {
		return found.RecoveredFrom, nil
	}
	id := ident.Action{Run: ident.Run{Project: run.Project, Domain: run.Domain, Name: found.RunName}, Name: found.Name}
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(id.Proto())
	if err != nil {
		return nil, rpc.Internal(err, "the id of action %s cannot be encoded", id)
	}
	return body, nil
}

// there reports whether an object exists. If the store does not respond it returns an error and not false, so that an
// outage never makes an action with a result run again.
func (rs *Recoveries) there(ctx context.Context, uri string) (bool, error) {
	_, err := rs.Objects.Stat(ctx, uri)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, blobstore.ErrNotExist), errors.Is(err, blobstore.ErrForbiddenPath):
		return false, nil
	default:
		return false, rpc.Unavailable(err, "cannot check whether %s exists", uri)
	}
}

// sameInputs compares the inputs of two runs. Inputs that are too large to compare count as different.
func (rs *Recoveries) sameInputs(ctx context.Context, a, b string) (bool, error) {
	if a == b {
		return true, nil
	}
	var read [2]task.Inputs
	var bodies [2][]byte
	for i, uri := range []string{a, b} {
		body, err := rs.Objects.ReadAll(ctx, uri, maxComparedInputs)
		switch {
		case errors.Is(err, blobstore.ErrNotExist), errors.Is(err, blobstore.ErrForbiddenPath), errors.Is(err, blobstore.ErrTooLarge):
			return false, nil
		case err != nil:
			return false, rpc.Unavailable(err, "the inputs at %s could not be read", uri)
		}
		bodies[i] = body
	}
	if bytes.Equal(bodies[0], bodies[1]) {
		return true, nil
	}
	for i := range bodies {
		if err := proto.Unmarshal(bodies[i], &read[i]); err != nil {
			return false, nil //nolint:nilerr // the task that reads them will say so
		}
	}
	return proto.Equal(&read[0], &read[1]), nil
}

// maxComparedInputs is the size up to which inputs are compared, in bytes.
const maxComparedInputs = 16 << 20
