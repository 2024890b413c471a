package dataproxy

import (
	"context"
	"crypto/md5" //nolint:gosec // the length of the protocol's digest
	"encoding/base32"
	"encoding/hex"
	"regexp"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/dataproxy"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// CreateUploadLocation implements DataProxyService: it returns a URL for uploading one file, and the URI under which
// tasks will find it. The URI consists of the root that the client chose, or one derived from the digest, and the
// file's name, both unchanged: clients split it again.
//
// What was uploaded stays what it was. The same content may be uploaded again, other content never: a name made from a
// digest is given out for that digest only, and every other name for what comes first. The data of tracked runs that have
// not ended are the exception.
func (s *Service) CreateUploadLocation(ctx context.Context, r *dataproxy.CreateUploadLocationRequest) (*dataproxy.CreateUploadLocationResponse, error) {
	path, err := uploadPath(r)
	if err != nil {
		return nil, err
	}
	expires, err := expiry("expires_in", r.GetExpiresIn(), s.config.MaxUploadExpiry)
	if err != nil {
		return nil, err
	}
	limit := s.config.MaxUploadBytes
	switch length := r.GetContentLength(); {
	case length < 0:
		return nil, rpc.InvalidArgument("content_length", "must not be negative")
	case length > limit:
		return nil, rpc.InvalidArgument("content_length", "must be at most %d", limit)
	case length > 0:
		limit = length
	}
	if err := s.checkScope(ctx, "project", r.GetProject(), "domain", r.GetDomain()); err != nil {
		return nil, err
	}
	if r.GetProject() == blobpath.UploadsName {
		return nil, rpc.FailedPrecondition("cannot upload to project %s: its name is reserved", r.GetProject())
	}
	replaceable, err := s.replaceable(ctx, r, path)
	if err != nil {
		return nil, err
	}
	uri := blobpath.Uploads(s.deps.Store.Root(), r.GetProject(), r.GetDomain()) + "/" + path
	if err := s.stored.enter(ctx, r.GetProject(), uri, r.GetContentLength(), expires); err != nil {
		return nil, err
	}
	if err := s.uploads.enter(ctx, r.GetProject(), uri, r.GetContentLength(), expires); err != nil {
		return nil, err
	}
	signed, err := s.deps.Store.SignPut(ctx, uri, blobstore.PutOptions{
		Expires: expires, ContentMD5: r.GetContentMd5(), MaxBytes: limit, MD5Metadata: r.GetAddContentMd5Metadata(),
		// Replacing content by the same content repairs a damaged object.
		CreateOnly: !replaceable && !namedByDigest(path, r.GetContentMd5()),
	})
	if err != nil {
		return nil, storeError(err, "filename", uri)
	}
	return &dataproxy.CreateUploadLocationResponse{
		SignedUrl: signed.URL, NativeUrl: uri, ExpiresAt: timestamppb.New(signed.ExpiresAt), Headers: signed.Headers,
	}, nil
}

// uploadPath is the path of the file within the uploads of its project and domain.
func uploadPath(r *dataproxy.CreateUploadLocationRequest) (string, error) {
	digest, root, name := r.GetContentMd5(), r.GetFilenameRoot(), r.GetFilename()
	if len(digest) != 0 && len(digest) != md5.Size {
		return "", rpc.InvalidArgument("content_md5", "must have %d bytes", md5.Size)
	}
	if len(digest) == 0 && root == "" {
		return "", rpc.InvalidArgument("content_md5", "one of content_md5 and filename_root is required")
	}
	if root == "" {
		root = digestRoot(digest)
	}
	if name == "" {
		if len(digest) == 0 {
			return "", rpc.InvalidArgument("filename", "one of filename and content_md5 is required")
		}
		name = hex.EncodeToString(digest)
	}
	if err := checkRelative("filename_root", root); err != nil {
		return "", err
	}
	if err := checkRelative("filename", name); err != nil {
		return "", err
	}
	return root + "/" + name, checkRoot(root, digest)
}

// checkRoot refuses roots whose names mean that their content has a digest, unless it has.
func checkRoot(root string, digest []byte) error {
	first, _, _ := strings.Cut(strings.ToLower(root), "/") // some file systems take no note of case
	switch {
	case first == blobpath.OffloadedInputsName:
		return rpc.InvalidArgument("filename_root", "%q is reserved for UploadInputs; choose another", root)
	case digestName.MatchString(first) && first != digestRoot(digest):
		return rpc.InvalidArgument("filename_root", "%q is the base-32 MD5 of other content than content_md5; choose another", root)
	}
	return nil
}

// digestName is the format of digestRoot.
var digestName = regexp.MustCompile(`^[a-z2-7]{26}$`)

// digestRoot is the root of content with a digest.
func digestRoot(digest []byte) string {
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(digest))
}

func namedByDigest(path string, digest []byte) bool {
	return len(digest) > 0 && strings.HasPrefix(path, digestRoot(digest)+"/")
}
