package dataproxy

import (
	"errors"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// maxPath bounds a path that a client chooses; object stores take a little over a thousand bytes in all.
const maxPath = 700

// segment is the format of projects and domains that become part of a path.
var segment = regexp.MustCompile(`^[A-Za-z0-9]([-._A-Za-z0-9]*[A-Za-z0-9])?$`)

// checkSegment refuses names that could lead elsewhere.
func checkSegment(field, name string) error {
	if !segment.MatchString(name) || strings.Contains(name, "..") {
		return rpc.InvalidArgument(field, "%q cannot be part of a path", name)
	}
	return nil
}

// checkRelative refuses what is not a plain relative path: of at least one part, none of them empty or made of dots, and
// without characters that mean something to someone.
func checkRelative(field, path string) error {
	switch {
	case len(path) > maxPath:
		return rpc.InvalidArgument(field, "must have at most %d bytes", maxPath)
	case !utf8.ValidString(path):
		return rpc.InvalidArgument(field, "must be valid UTF-8")
	case strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }):
		return rpc.InvalidArgument(field, "must not contain control characters or backslashes")
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return rpc.InvalidArgument(field, "must be a relative path without empty segments, . or ..")
		}
	}
	return nil
}

// expiry is the validity of a URL: as requested, up to the limit.
func expiry(field string, wanted *durationpb.Duration, limit time.Duration) (time.Duration, error) {
	if wanted == nil {
		return limit, nil
	}
	if err := wanted.CheckValid(); err != nil || wanted.AsDuration() < 0 {
		return 0, rpc.InvalidArgument(field, "must be a duration that is not negative")
	}
	if wanted.AsDuration() == 0 {
		return limit, nil
	}
	return min(wanted.AsDuration(), limit), nil
}

// storeError maps an error of the object store to one for the client. field is the request field that caused it, if
// any.
func storeError(err error, field, uri string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, blobstore.ErrForbiddenPath) && field != "":
		return rpc.InvalidArgument(field, "%s is outside the storage of this server", uri)
	case errors.Is(err, blobstore.ErrForbiddenPath):
		return rpc.FailedPrecondition("%s is outside the storage of this server", uri)
	case errors.Is(err, blobstore.ErrExists):
		return rpc.AlreadyExists("%s already exists with other content; uploads never replace an object: choose another filename_root or filename", uri)
	case errors.Is(err, blobstore.ErrNotExist):
		return rpc.NotFound("%s does not exist in the object store", uri)
	case errors.Is(err, blobstore.ErrTooLarge):
		return rpc.FailedPrecondition("%s is too large for one message; read it from the object store", uri)
	default:
		return rpc.Unavailable(err, "the object store failed to read %s", uri)
	}
}
