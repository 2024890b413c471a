// Package blobaccess decides which URIs of the object store a request may name. A URI is a capability: who may name it can
// have it read, or written, by the server. So a request may name what belongs to its own project and domain, and what its
// run was handed, and nothing else. Every service asks here. It knows the layout of internal/blob/blobpath and makes no request
// to the object store.
package blobaccess

import (
	"errors"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Place is the project and domain for which a request names a URI. Settings of all projects have no Project, settings of
// the installation no Domain either.
type Place struct{ Project, Domain string }

// Store is the object store; blobstore.Store is one.
type Store interface {
	// Root is the URI prefix of the layout, without a trailing slash.
	Root() string
	// Canonical is the one form of a URI; it returns blobstore.ErrForbiddenPath for a URI outside of the store.
	Canonical(uri string) (string, error)
}

// Rules decides. All errors of bad URIs are InvalidArgument errors that name the request's field and what it may name.
type Rules struct{ store Store }

// New returns the rules of a store.
func New(store Store) *Rules { return &Rules{store: store} }

// Data checks the URI of an object with inputs, outputs or a report: it belongs to the place, or is one of those handed to
// the run, or is below one of those that end with a slash. Empty ones hand nothing.
func (r *Rules) Data(field, uri string, place Place, handed ...string) error {
	canonical, err := r.canonical(field, uri)
	if err != nil {
		return err
	}
	own := []string{
		blobpath.Uploads(r.store.Root(), place.Project, place.Domain) + "/",
		r.store.Root() + "/" + place.Project + "/" + place.Domain + "/",
	}
	if r.among(canonical, append(own, handed...)) {
		return nil
	}
	return rpc.InvalidArgument(field, "%q does not belong to project %s and domain %s, and the run was not handed it; "+
		"upload the data there, or name an object below %s or %s", uri, place.Project, place.Domain, own[0], own[1])
}

// Code checks the URI of a code bundle: it is among the uploads of the project, in any domain since code is promoted from
// one to the next, or was handed to the run. Code outside of the store is the user's own business: the server never reads
// it.
func (r *Rules) Code(field, uri string, place Place, handed ...string) error {
	canonical, err := r.store.Canonical(uri)
	if err != nil {
		return nil //nolint:nilerr // not of this store
	}
	own := r.store.Root() + "/" + blobpath.UploadsName + "/" + place.Project + "/"
	if r.among(canonical, append([]string{own}, handed...)) {
		return nil
	}
	return rpc.InvalidArgument(field, "code %q was not uploaded for project %s, and the run was not handed it; "+
		"upload it there, or name a deployed task", uri, place.Project)
}

// Value checks the URI of an object that a value points to: as Data, but an object outside of the store is the user's own
// business. The server never reads it.
func (r *Rules) Value(field, uri string, place Place, handed ...string) error {
	if _, err := r.store.Canonical(uri); errors.Is(err, blobstore.ErrForbiddenPath) {
		return nil
	}
	return r.Data(field, uri, place, handed...)
}

// Base checks a directory below which the data of a place are to be written: it is in the store, but not among the
// uploads, not where another project has its data or will have them once someone creates it, and not in the directory of a run
// of another project, wherever that is. A directory below the root whose name begins with an underscore can become no
// project's.
func (r *Rules) Base(field, base string, place Place) error {
	canonical, err := r.canonical(field, strings.TrimRight(base, "/")+"/base")
	if err != nil {
		return err
	}
	if owner := runOwner(canonical); owner != "" && owner != place.Project {
		return rpc.InvalidArgument(field, "%q is in the directory of a run of project %s", base, owner)
	}
	below, found := strings.CutPrefix(canonical, r.store.Root()+"/")
	owner, _, deep := strings.Cut(below, "/")
	if !found || !deep || owner == place.Project || strings.HasPrefix(owner, "_") {
		return nil
	}
	if owner == blobpath.UploadsName {
		return rpc.InvalidArgument(field, "%q is among the uploads, which belong to no run", base)
	}
	own := ""
	if place.Project != "" {
		own = " below " + r.store.Root() + "/" + place.Project + ","
	}
	return rpc.InvalidArgument(field, "%q is where project %s has its data, or will have them; name a directory%s below %s/_NAME, or below one of storage.extraPrefixes",
		base, owner, own, r.store.Root())
}

// runOwner is the project of the run in whose directory a URI lies; empty when it is in none.
func runOwner(uri string) string {
	steps := strings.Split(uri, "/")
	for i, step := range steps {
		if _, marked := blobpath.RunOf(step); marked && i > 1 {
			return steps[i-2]
		}
	}
	return ""
}

// RawBase is Base for a directory that only tasks write to, which may be outside of the store.
func (r *Rules) RawBase(field, base string, place Place) error {
	_, path, found := strings.Cut(base, "://")
	if !found {
		path = base
	}
	for step := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		if step == "." || step == ".." || step == "" && path != "" {
			return rpc.InvalidArgument(field, "%q contains a symbolic link, . or ..; name the directory itself", base)
		}
	}
	if _, err := r.store.Canonical(strings.TrimRight(base, "/") + "/base"); errors.Is(err, blobstore.ErrForbiddenPath) {
		return nil
	}
	return r.Base(field, base, place)
}

func (r *Rules) canonical(field, uri string) (string, error) {
	canonical, err := r.store.Canonical(uri)
	if errors.Is(err, blobstore.ErrForbiddenPath) {
		return "", rpc.InvalidArgument(field, "%q is outside the storage of this installation", uri)
	}
	return canonical, err
}

// among reports whether a canonical URI is one of those allowed, or is below one that ends with a slash.
func (r *Rules) among(canonical string, allowed []string) bool {
	for _, one := range allowed {
		if one == "" {
			continue
		}
		one, err := r.store.Canonical(one)
		if err == nil && (canonical == one || strings.HasSuffix(one, "/") && strings.HasPrefix(canonical, one)) {
			return true
		}
	}
	return false
}

// Siblings is the directory with the runs of the same base directory, project and domain as a run with this output base:
// what a run may read of its own base directory.
func Siblings(runBase string) string {
	at := strings.LastIndexByte(strings.TrimSuffix(runBase, "/"), '/')
	return runBase[:at+1]
}
