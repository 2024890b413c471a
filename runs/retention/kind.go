package retention

import (
	"context"
	"path"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/store/deletions"
)

// kind is one of the two kinds of runs. The limits hold for each of them by itself.
type kind struct {
	tracked bool
	store   Store
	// owns reports whether the output base of a deleted run is its own directory. root is the URI prefix of the layout.
	owns func(root string, d deletions.Deletion) bool
	// forget is Deps.Forget; nil if nothing is to be cleaned up elsewhere.
	forget func(ctx context.Context, run ident.Run) error
}

func kindsOf(deps Deps) []kind {
	kinds := []kind{{store: deps.Store, owns: owns, forget: deps.Forget}}
	if deps.Tracked != nil {
		kinds = append(kinds, kind{tracked: true, store: deps.Tracked, owns: ownsTracked})
	}
	return kinds
}

// owns reports whether the output base of a run is its own directory, which its mark proves. The directories of runs from
// before there were marks have nothing but their names, which the creator of the run could choose: they are deleted
// unless they are where clients upload.
func owns(root string, d deletions.Deletion) bool {
	parent, dir := path.Split(strings.TrimSuffix(d.OutputBase, "/"))
	if !strings.HasSuffix(parent, "/"+d.Run.Project+"/"+d.Run.Domain+"/") {
		return false
	}
	if blobpath.IsRunDir(dir, d.Run.Name) {
		return true
	}
	return dir == d.Run.Name && dir != blobpath.OffloadedInputsName && !strings.HasPrefix(parent, root+"/"+blobpath.UploadsName+"/")
}

// ownsTracked is owns for a tracked run. Its directory has no mark: the server alone chooses it, by the name.
func ownsTracked(root string, d deletions.Deletion) bool {
	return d.OutputBase == blobpath.TrackedRun(root, d.Run.Project, d.Run.Domain, d.Run.Name)
}
