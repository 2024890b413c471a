package artifacts

import (
	"context"
	"errors"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/flyte-binary/flyte-binary/artifacts/store"
	enginev1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/engine/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/core"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/internal/blob/artifactref"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

const (
	// maxReads is how many inputs a request reads at once, maxRead the largest that it reads, in bytes: clients refuse to
	// write more than 10 MiB unless configured otherwise.
	maxReads = 4
	maxRead  = 16 << 20
	// maxPointers is how many versions of one object are found.
	maxPointers = 10
)

// finder finds versions among the inputs of actions: by the identity of a value, which clients copy into the inputs of
// runs, and otherwise by what the value points to, since tasks pass files on without their identity.
type finder struct {
	store *store.Store
	blobs Blobs
}

// inputs are what the inputs of an action name and point to. unavailable means that the store did not answer, and that
// the caller should ask again. Inputs that do not exist or cannot be read name nothing.
type inputs struct {
	named       []artifactref.Version
	data        []string
	unavailable bool
}

// FindUses implements enginev1connect.ArtifactRegistryServiceHandler. It reads nothing while there are no artifacts.
func (f *finder) FindUses(ctx context.Context, r *enginev1.FindUsesRequest) (*enginev1.FindUsesResponse, error) {
	response := &enginev1.FindUsesResponse{Actions: make([]*enginev1.FoundUses, len(r.GetActions()))}
	for i := range response.GetActions() {
		response.Actions[i] = &enginev1.FoundUses{}
	}
	if any, err := f.store.Any(ctx); err != nil || !any {
		return response, err
	}
	all := f.readAll(ctx, r.GetActions())
	pointing, err := f.pointing(ctx, all)
	if err != nil {
		return nil, err
	}
	for i, action := range r.GetActions() {
		response.Actions[i].Unavailable = all[i].unavailable
		response.Actions[i].Artifacts = uses(ident.ActionOf(action.GetActionId()), all[i], pointing)
	}
	return response, nil
}

func (f *finder) readAll(ctx context.Context, actions []*enginev1.ActionInputs) []inputs {
	all := make([]inputs, len(actions))
	var reads errgroup.Group
	reads.SetLimit(maxReads)
	for i, action := range actions {
		reads.Go(func() error {
			all[i] = f.read(ctx, action.GetInputUri())
			return nil
		})
	}
	_ = reads.Wait() // no read returns an error
	return all
}

func (f *finder) read(ctx context.Context, uri string) inputs {
	body, err := f.blobs.ReadAll(ctx, blobpath.InputsPath(uri), maxRead)
	switch {
	case errors.Is(err, blobstore.ErrNotExist), errors.Is(err, blobstore.ErrTooLarge), errors.Is(err, blobstore.ErrForbiddenPath):
		return inputs{}
	case err != nil:
		return inputs{unavailable: true}
	}
	read := &task.Inputs{}
	if proto.Unmarshal(body, read) != nil {
		return inputs{}
	}
	found := inputs{named: artifactref.Uses(read.GetLiterals())}
	for _, uri := range artifactref.Data(read.GetLiterals()) {
		found.data = append(found.data, canonical(f.blobs, uri))
	}
	return found
}

// pointing finds the versions that point to objects among inputs, or to directories with such objects.
func (f *finder) pointing(ctx context.Context, all []inputs) (map[string][]store.Pointer, error) {
	wanted := map[string]bool{}
	for _, one := range all {
		for _, uri := range one.data {
			for place := range within(uri) {
				wanted[place] = true
			}
		}
	}
	uris := make([]string, 0, len(wanted))
	for uri := range wanted {
		uris = append(uris, uri)
	}
	found, err := f.store.PointingTo(ctx, uris, maxPointers)
	pointing := map[string][]store.Pointer{}
	for _, pointer := range found {
		pointing[pointer.URI] = append(pointing[pointer.URI], pointer)
	}
	return pointing, err
}

// uses lists versions once each. An action does not use what it made itself: it may publish the very file that it was
// given.
func uses(action ident.Action, of inputs, pointing map[string][]store.Pointer) []*core.ArtifactVersionId {
	var found []store.VersionKey
	add := func(key store.VersionKey) {
		if len(found) < artifactref.MaxUses && !slices.Contains(found, key) {
			found = append(found, key)
		}
	}
	for _, named := range of.named {
		add(store.VersionKey{Name: store.Name{Project: named.Project, Domain: named.Domain, Name: named.Name}, Version: named.Version})
	}
	for _, uri := range of.data {
		for place := range within(uri) {
			for _, pointer := range pointing[place] {
				source := ident.Action{Run: ident.Run{Project: pointer.Project, Domain: pointer.Domain, Name: pointer.SourceRun}, Name: pointer.SourceAction}
				if source != action {
					add(pointer.VersionKey)
				}
			}
		}
	}
	ids := make([]*core.ArtifactVersionId, 0, len(found))
	for _, key := range found {
		ids = append(ids, versionID(key, ""))
	}
	return ids
}

// within yields a URI and the directories that it is in, each with and without the slash at its end.
func within(uri string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		root := 0
		if at := strings.Index(uri, "://"); at >= 0 {
			root = at + len("://")
		}
		for place := strings.TrimRight(uri, "/"); len(place) > root; place = place[:strings.LastIndexByte(place, '/')] {
			if !yield(place) || !yield(place+"/") || !strings.Contains(place[root:], "/") {
				return
			}
		}
	}
}

// canonical is the form in which the data of versions are stored: that of the store, or the URI itself if it is outside.
func canonical(blobs Blobs, uri string) string {
	if own, err := blobs.Canonical(uri); err == nil {
		return own
	}
	return uri
}
