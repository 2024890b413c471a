package launch

import (
	"cmp"
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// describeRelation records which run the new one came from. The older field related_to alone means a rerun.
//
// A rerun or a recovery requires its source. Clients that use several installations also name the source of a spawned
// or triggered run: if that run does not exist here, the relation is left out and the run is created anyway.
func (c *Creator) describeRelation(ctx context.Context, root *schema.Root, spec *task.RunSpec) error {
	relation, err := relationOf(spec)
	if err != nil || relation == nil {
		return err
	}
	run := ident.Run{Project: root.Project, Domain: root.Domain, Name: relation.GetRelatedTo().GetName()}
	field := "run_spec.relation.related_to"
	switch related := relation.GetRelatedTo(); {
	case related.GetName() == "":
		return rpc.InvalidArgument(field+".name", "is required")
	case cmp.Or(related.GetProject(), run.Project) != run.Project, cmp.Or(related.GetDomain(), run.Domain) != run.Domain:
		return rpc.InvalidArgument(field, "run %s is not in project %s and domain %s of the new run", related.GetName(), run.Project, run.Domain)
	case run.Name == root.RunName:
		return rpc.InvalidArgument(field+".name", "must name another run")
	}
	if _, err := c.Storage.Storage(ctx, run.Root()); rpc.IsNotFound(err) {
		switch _, repeated := c.Storage.Storage(ctx, ident.Run{Project: root.Project, Domain: root.Domain, Name: root.RunName}.Root()); {
		case repeated == nil: // the new run is there already, and the store will compare the requests
		case !rpc.IsNotFound(repeated):
			return repeated
		case needsSource(relation.GetRelationType()):
			return rpc.NotFound("run %s in %s does not exist", run, field)
		default:
			return nil
		}
	} else if err != nil {
		return err
	}
	relation.RelatedTo.Project, relation.RelatedTo.Domain = run.Project, run.Domain
	if root.Relation, err = proto.Marshal(relation); err != nil {
		return rpc.InvalidArgument("run_spec.relation", "cannot be encoded")
	}
	root.RelationType, root.RelationRun = int16(relation.GetRelationType()), run.Name //nolint:gosec // an enum of few values
	return nil
}

func needsSource(relation common.RelationType) bool {
	return relation == common.RelationType_RELATION_TYPE_RERUN || relation == common.RelationType_RELATION_TYPE_RECOVER
}

// relationOf reads the relation of a request; nil when there is none.
func relationOf(spec *task.RunSpec) (*common.Relation, error) {
	relation, older := spec.GetRelation(), spec.GetRelatedTo() //nolint:staticcheck // older clients send it
	switch {
	case relation == nil && older != nil:
		relation = &common.Relation{RelatedTo: proto.CloneOf(older), RelationType: common.RelationType_RELATION_TYPE_RERUN}
	case older != nil && older.GetName() != relation.GetRelatedTo().GetName():
		return nil, rpc.InvalidArgument("run_spec.related_to", "must name the same run as run_spec.relation.related_to")
	}
	kind := relation.GetRelationType()
	switch {
	case relation != nil && (kind == 0 || common.RelationType_name[int32(kind)] == ""):
		return nil, rpc.InvalidArgument("run_spec.relation.relation_type", "unknown relation type %d", kind)
	case spec.GetRecover() != nil && kind != common.RelationType_RELATION_TYPE_RECOVER:
		return nil, rpc.InvalidArgument("run_spec.recover", "requires run_spec.relation.relation_type RECOVER")
	case relation == nil:
		return nil, nil //nolint:nilnil // most runs come from no other
	}
	return proto.CloneOf(relation), nil
}
