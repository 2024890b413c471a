package artifacts

import (
	"context"
	"errors"
	"strings"

	"google.golang.org/protobuf/proto"

	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/artifact"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/artifactref"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobaccess"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// maxInputs is the largest inputs.pb that is read to learn what a run was handed, in bytes.
const maxInputs = 64 << 20

// maxURI is the longest URI that is remembered, in bytes: an index has no place for longer ones. Those in the store are
// shorter.
const maxURI = 2000

// data decides to which objects a version may point: those of its own project and domain, those in the directories where the
// run that made it writes, and those that this run was handed with its inputs.
type data struct {
	access *blobaccess.Rules
	blobs  Blobs
	engine Engine
	runs   Runs
}

// check returns the canonical URIs of the objects in the store that a spec points to, or refuses one of them. made is the
// action that made the version; nil without one.
func (d *data) check(ctx context.Context, name *artifact.ArtifactName, spec *artifact.ArtifactSpec, made *source) ([]string, error) {
	var kept []string
	for _, uri := range artifactref.URIs(spec.GetValue()) {
		if err := d.allow(ctx, "spec.value", uri, name, made); err != nil {
			return nil, err
		}
		kept = d.keep(kept, uri)
	}
	if card := spec.GetInfo().GetCard().GetUri(); card != "" {
		if err := d.allow(ctx, "spec.info.card.uri", card, name, made); err != nil {
			return nil, err
		}
		kept = d.keep(kept, card)
	}
	return kept, nil
}

// keep adds the canonical form of a URI, unless it is too long for the index.
func (d *data) keep(kept []string, uri string) []string {
	if uri = canonical(d.blobs, uri); len(uri) > maxURI {
		return kept
	}
	return append(kept, uri)
}

// allow refuses a URI outside of what the version may point to. The error is that of the first check, which names the
// places.
func (d *data) allow(ctx context.Context, field, uri string, name *artifact.ArtifactName, made *source) error {
	place := blobaccess.Place{Project: name.GetProject(), Domain: name.GetDomain()}
	if made == nil {
		return d.access.Value(field, uri, place)
	}
	var own []string
	if base := made.storage.GetRunOutputBase(); base != "" {
		own = []string{base}
	}
	refusal := d.access.Value(field, uri, place, own...)
	if refusal == nil {
		return nil
	}
	// It may be raw data in another place, or among the inputs, which are read only now: hardly any task returns what it
	// was given.
	handed, err := d.handed(ctx, made)
	if err != nil {
		return err
	}
	if d.access.Value(field, uri, place, handed...) == nil {
		return nil
	}
	return refusal
}

// handed lists where the run of the source puts its raw data, and what the inputs of the source and of its run point to.
func (d *data) handed(ctx context.Context, made *source) ([]string, error) {
	action, inputs := made.action, []string{made.storage.GetInputUri()}
	if action.Name != ident.RootAction {
		root, err := d.engine.GetActionStorage(ctx, &enginev1.GetActionStorageRequest{ActionId: action.Run.Root().Proto()})
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, root.GetInputUri())
	}
	run, err := d.runs.GetRunDetails(ctx, &workflow.GetRunDetailsRequest{RunId: action.Run.Proto()})
	if err != nil {
		return nil, err
	}
	var handed []string
	if raw := run.GetDetails().GetRunSpec().GetRawDataStorage().GetRawDataPrefix(); raw != "" {
		handed = append(handed, strings.TrimRight(raw, "/")+"/")
	}
	for _, uri := range inputs {
		if uri == "" {
			continue
		}
		body, err := d.blobs.ReadAll(ctx, blobpath.InputsPath(uri), maxInputs)
		switch {
		case errors.Is(err, blobstore.ErrNotExist), errors.Is(err, blobstore.ErrTooLarge), errors.Is(err, blobstore.ErrForbiddenPath):
			continue
		case err != nil:
			return nil, rpc.Unavailable(err, "the inputs of action %s could not be read", action)
		}
		read := &task.Inputs{}
		if proto.Unmarshal(body, read) != nil {
			continue
		}
		for _, literal := range read.GetLiterals() {
			for _, one := range artifactref.URIs(literal.GetValue()) {
				// A directory hands everything in it.
				handed = append(handed, one, strings.TrimSuffix(one, "/")+"/")
			}
		}
	}
	return handed, nil
}
