package artifacts

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/metric"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/artifacts/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/internal/names/caller"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/names/place"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

const (
	// maxMetadata bounds the entries of user_metadata, maxMetadataKey their keys in bytes.
	maxMetadata    = 128
	maxMetadataKey = 255
	maxParents     = 32
)

// writer creates versions.
type writer struct {
	store    *store.Store
	projects place.Projects
	data     *data
	maxSpec  int
	created  metric.Int64Counter
}

// CreateArtifact implements artifactconnect.ArtifactServiceHandler. The partitions must have the keys that were declared
// for the name. If no keys were declared, the first version fixes them, and a later one with other keys is stored with a
// note.
func (h *handler) CreateArtifact(ctx context.Context, r *artifact.CreateArtifactRequest) (*artifact.CreateArtifactResponse, error) {
	author, err := caller.Encoded(ctx)
	if err != nil {
		return nil, err
	}
	created, err := h.writer.create(ctx, candidate{id: r.GetArtifactId(), spec: r.GetSpec(), author: author, strict: true})
	if errors.Is(err, store.ErrExists) {
		id := r.GetArtifactId()
		return nil, rpc.AlreadyExists("artifact %s version %s already exists", id.GetName().GetName(), id.GetVersion())
	}
	if err != nil {
		return nil, err
	}
	return &artifact.CreateArtifactResponse{Artifact: created}, nil
}

// candidate is a version to be created.
type candidate struct {
	id     *artifact.ArtifactIdentifier
	spec   *artifact.ArtifactSpec
	author []byte
	// strict refuses partitions that do not match a declaration. Those of a task that has ended are stored all the same.
	strict bool
}

// accepts refuses places that do not exist and, for what clients create, archived projects. Runs that an archived project
// still had create their versions.
func (w *writer) accepts(ctx context.Context, name *artifact.ArtifactName, client bool) error {
	if client {
		return place.Accepts(ctx, w.projects, name.GetProject(), name.GetDomain(), "artifact version")
	}
	return place.Exists(ctx, w.projects, name.GetProject(), name.GetDomain())
}

// create checks and stores a version. It returns store.ErrExists when the version exists. What needs no other service
// is checked first.
func (w *writer) create(ctx context.Context, c candidate) (*artifact.Artifact, error) {
	// The value must not claim to be another artifact, and the stored value may be changed.
	spec := proto.CloneOf(c.spec)
	if spec.GetValue() == nil || spec.GetType() == nil {
		return nil, rpc.InvalidArgument("spec", "a value and its type are required")
	}
	spec.Value.ArtifactId = nil
	if err := checkIdentifier(c.id); err != nil {
		return nil, err
	}
	if err := w.accepts(ctx, c.id.GetName(), c.strict); err != nil {
		return nil, err
	}
	parts, err := partitionsOf(spec)
	if err != nil {
		return nil, err
	}
	row := store.NewVersion{
		VersionKey: keyOf(c.id), Org: c.id.GetName().GetOrg(), CreatedBy: c.author,
		Schema: parts.schema, Partition: parts.digest, TimePartition: parts.time, Labels: parts.labels,
		Mismatch: func(fixed store.Fixed) ([]byte, error) { return mismatch(fixed, parts.schema, c.strict) },
	}
	if err := addMetadata(&row, spec.GetInfo()); err != nil {
		return nil, err
	}
	if err := addParents(&row, spec); err != nil {
		return nil, err
	}
	made, err := w.addSource(ctx, &row, c.id.GetName(), spec)
	if err != nil {
		return nil, err
	}
	if row.Data, err = w.data.check(ctx, c.id.GetName(), spec, made); err != nil {
		return nil, err
	}
	// Last, since the checks complete parents and partitions in the spec.
	if err := w.encode(&row, spec); err != nil {
		return nil, err
	}
	return w.save(ctx, row, made)
}

// save stores a version. A run that is being deleted at this moment takes its data along, so the source is looked up
// again when retention can see the version.
func (w *writer) save(ctx context.Context, row store.NewVersion, made *source) (*artifact.Artifact, error) {
	stored, err := w.store.Create(ctx, row)
	if err != nil {
		return nil, err
	}
	if made != nil && len(row.Data) > 0 {
		_, err := w.data.engine.GetActionStorage(ctx, &enginev1.GetActionStorageRequest{ActionId: made.action.Proto()})
		if rpc.IsNotFound(err) {
			if _, err := w.store.Delete(ctx, row.VersionKey); err != nil {
				return nil, err
			}
			return nil, rpc.FailedPrecondition("run %s is being deleted, with the data of this version", row.SourceRun)
		}
	}
	w.created.Add(ctx, 1)
	return toProto(stored)
}

func (w *writer) encode(row *store.NewVersion, spec *artifact.ArtifactSpec) (err error) {
	if row.Spec, err = (proto.MarshalOptions{Deterministic: true}).Marshal(spec); err != nil {
		return rpc.InvalidArgument("spec", "cannot be encoded: %s", err.Error())
	}
	if len(row.Spec) > w.maxSpec {
		return rpc.InvalidArgument("spec", "must have at most %[2]d bytes, got %[1]d; store large values in the object store", len(row.Spec), w.maxSpec)
	}
	if spec.GetPartitions() == nil {
		return nil
	}
	if row.Partitions, err = (proto.MarshalOptions{Deterministic: true}).Marshal(spec.GetPartitions()); err != nil {
		return rpc.InvalidArgument("spec.partitions", "cannot be encoded: %s", err.Error())
	}
	return nil
}

func checkIdentifier(id *artifact.ArtifactIdentifier) error {
	if err := checkName("artifact_id.name", id.GetName()); err != nil {
		return err
	}
	switch version := id.GetVersion(); {
	case version == "" || len(version) > 255:
		return rpc.InvalidArgument("artifact_id.version", "must have 1 to 255 bytes, got %d", len(version))
	case version == latest:
		return rpc.InvalidArgument("artifact_id.version", "version name %q is reserved", latest)
	}
	return nil
}

func checkName(field string, name *artifact.ArtifactName) error {
	switch {
	case name.GetProject() == "":
		return rpc.InvalidArgument(field+".project", "is required")
	case name.GetDomain() == "":
		return rpc.InvalidArgument(field+".domain", "is required")
	case !ident.IsArtifact(name.GetName()):
		return rpc.InvalidArgument(field+".name", "%s, got %q", ident.ArtifactRule, name.GetName())
	}
	return nil
}

// mismatch describes partitions that have not the keys of their name, or refuses them.
func mismatch(fixed store.Fixed, actual store.PartitionSchema, strict bool) ([]byte, error) {
	words := fmt.Sprintf("the artifact has %s, this version %s", describe(fixed.PartitionSchema), describe(actual))
	if strict && fixed.Declared {
		return nil, rpc.InvalidArgument("spec.partitions", "do not match the declared partition keys: %s", words)
	}
	return proto.Marshal(&artifact.PartitionSchemaMismatch{
		Expected: schemaToProto(fixed.PartitionSchema), Actual: schemaToProto(actual), Message: words,
	})
}

// addMetadata makes metadata searchable. Long values are kept, but not found by filters.
func addMetadata(row *store.NewVersion, info *core.ArtifactInfo) error {
	if len(info.GetUserMetadata()) > maxMetadata {
		return rpc.InvalidArgument("spec.info.user_metadata", "at most %d entries are allowed, got %d", maxMetadata, len(info.GetUserMetadata()))
	}
	for key, value := range info.GetUserMetadata() {
		if key == "" || len(key) > maxMetadataKey || strings.ContainsRune(key+value, 0) {
			return rpc.InvalidArgument("spec.info.user_metadata", "keys must have 1 to %d bytes, and keys and values must not contain NUL; got %q", maxMetadataKey, key)
		}
		if len(value) <= maxValue {
			row.Labels = append(row.Labels, store.Label{Kind: store.LabelMetadata, Key: key, Value: value})
		}
	}
	return nil
}

// addParents completes the parents: parts of the key that are left out are those of the artifact itself.
func addParents(row *store.NewVersion, spec *artifact.ArtifactSpec) error {
	if len(spec.GetParentArtifacts()) > maxParents {
		return rpc.InvalidArgument("spec.parent_artifacts", "at most %d are allowed, got %d", maxParents, len(spec.GetParentArtifacts()))
	}
	for i, parent := range spec.GetParentArtifacts() {
		field := fmt.Sprintf("spec.parent_artifacts[%d]", i)
		if parent.GetVersion() == "" {
			return rpc.InvalidArgument(field+".version", "is required")
		}
		if parent.GetKey() == nil {
			parent.Key = &core.ArtifactKey{}
		}
		key := parent.GetKey()
		if key.GetProject() == "" && key.GetDomain() == "" {
			key.Project, key.Domain = row.Project, row.Domain
		}
		if key.GetName() == "" {
			key.Name = row.Name.Name
		}
		if key.GetProject() == "" || key.GetDomain() == "" || !ident.IsArtifact(key.GetName()) {
			return rpc.InvalidArgument(field+".key", "must have a valid name, and both project and domain or neither")
		}
		row.Parents = append(row.Parents, store.VersionKey{
			Name: store.Name{Project: key.GetProject(), Domain: key.GetDomain(), Name: key.GetName()}, Version: parent.GetVersion(),
		})
	}
	return nil
}

// source is the action that made a version.
type source struct {
	action ident.Action
	// storage is where the action has its data.
	storage *enginev1.GetActionStorageResponse
}

// addSource checks where the version came from. An action must exist, in the place of the artifact. A task whose attempt is
// known speaks for itself alone: its action is the source, whether it says so or not. It returns nil unless an action made
// the version.
func (w *writer) addSource(ctx context.Context, row *store.NewVersion, name *artifact.ArtifactName, spec *artifact.ArtifactSpec) (*source, error) {
	const field = "spec.source.task_action.action"
	id := spec.GetSource().GetTaskAction().GetAction()
	if external, ok := spec.GetSource().GetSource().(*artifact.ArtifactSource_ExternalRef); ok {
		if len(external.ExternalRef) > 1024 || strings.ContainsRune(external.ExternalRef, 0) {
			return nil, rpc.InvalidArgument("spec.source.external_ref", "must have at most 1024 bytes and must not contain NUL")
		}
		row.SourceExternalRef = external.ExternalRef
	}
	if own := authz.IdentityFrom(ctx).Attempt; own != nil {
		action := ident.Action{Run: ident.Run{Project: own.Project, Domain: own.Domain, Name: own.Run}, Name: own.Action}
		if id != nil && ident.ActionOf(id) != action {
			return nil, rpc.InvalidArgument(field, "must be %s, the action that makes this call, got %s", action, ident.ActionOf(id))
		}
		id = action.Proto()
		id.Run.Org = name.GetOrg()
		if row.SourceExternalRef == "" {
			spec.Source = &artifact.ArtifactSource{Source: &artifact.ArtifactSource_TaskAction{
				TaskAction: &artifact.TaskActionSource{Action: id, Attempt: own.Number},
			}}
		}
	}
	if id == nil {
		return nil, nil //nolint:nilnil // documented
	}
	run := id.GetRun()
	if run.GetProject() != name.GetProject() || run.GetDomain() != name.GetDomain() ||
		run.GetOrg() != "" && name.GetOrg() != "" && run.GetOrg() != name.GetOrg() {
		return nil, rpc.InvalidArgument(field+".run", "must be in the project and domain of the artifact")
	}
	action := ident.ActionOf(id)
	storage, err := w.data.engine.GetActionStorage(ctx, &enginev1.GetActionStorageRequest{ActionId: action.Proto()})
	if rpc.IsNotFound(err) {
		return nil, rpc.InvalidArgument(field, "action %s does not exist", action)
	}
	if err != nil {
		return nil, err
	}
	row.SourceRun, row.SourceAction = action.Run.Name, action.Name
	return &source{action: action, storage: storage}, nil
}
