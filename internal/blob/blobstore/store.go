package blobstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Errors for errors.Is.
var (
	// ErrNotExist says that the object does not exist. It matches fs.ErrNotExist, too.
	ErrNotExist error = notExistError{}
	// ErrTooLarge says that an object is larger than the caller wants to read.
	ErrTooLarge = errors.New("object is too large")
	// ErrForbiddenPath says that a URI is outside the configured roots, or has elements that could lead there.
	ErrForbiddenPath = errors.New("path is outside the configured storage")
	// ErrExists says that an object that should be created exists with other content.
	ErrExists = errors.New("object exists with other content")
)

// notExistError equals fs.ErrNotExist too, for callers that know no store.
type notExistError struct{}

// Error implements error.
func (notExistError) Error() string { return "object does not exist" }

// Is is for errors.Is.
func (notExistError) Is(target error) bool { return target == fs.ErrNotExist }

// Info describes an object.
type Info struct {
	// Size in bytes.
	Size int64
	// ModTime is when it was written, in UTC.
	ModTime time.Time
	// MD5 of the content when the store knows it.
	MD5 []byte
	// Metadata as it was given when the object was written.
	Metadata map[string]string
}

// PutOptions is what a signed PUT allows.
type PutOptions struct {
	// Expires is how long the URL is valid. Required.
	Expires time.Duration
	// ContentMD5 is the digest that the content must have; empty means any content.
	ContentMD5 []byte
	// MaxBytes bounds the content; 0 means the store's own limit. Object stores cannot enforce it.
	MaxBytes int64
	// MD5Metadata keeps the digest with the object too, where the store can.
	MD5Metadata bool
	// CreateOnly refuses to replace an object. Content with the same digest as the object's may be sent again, as clients
	// do that got no answer; other content is refused, with ErrExists if that is known before the content is sent.
	CreateOnly bool
}

// GetOptions is what a signed GET does.
type GetOptions struct {
	// Expires is how long the URL is valid. Required.
	Expires time.Duration
	// ShowAs is the media type as which a browser shows the object. Empty makes it a download.
	// Azure ignores it and uses the type that was set when the object was written.
	ShowAs string
}

// Signed is a signed URL.
type Signed struct {
	// URL to send the request to.
	URL string
	// Headers that the request must carry.
	Headers map[string]string
	// ExpiresAt is when the URL expires.
	ExpiresAt time.Time
}

// backend is one root. Keys are relative to it, clean and never empty.
type backend interface {
	open(ctx context.Context, key string) (io.ReadCloser, error)
	// openRange opens a part of an object, which must be in it.
	openRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error)
	create(ctx context.Context, key string) (io.WriteCloser, error)
	stat(ctx context.Context, key string) (Info, error)
	remove(ctx context.Context, key string) error
	list(ctx context.Context, key string, visit func(Object) error) error
	measure(ctx context.Context, key, after string, size int, visit func(Page) error) error
	// removePrefix calls removed for each object, or each part of a directory, that it has removed.
	removePrefix(ctx context.Context, key string, removed func(Object)) error
	signPut(ctx context.Context, key string, o PutOptions) (Signed, error)
	signGet(ctx context.Context, key string, o GetOptions) (Signed, error)
	// origin is the origin of signed URLs; empty if unknown.
	origin() string
	close() error
}

// Store is all roots. Its methods may be used concurrently.
type Store struct {
	roots []mounted
	files *fileServer // nil when no root is a directory
}

type mounted struct {
	uri     string
	backend *bounded
}

// Option changes how Open works.
type Option func(*options)

type options struct{ clock clock.Clock }

// WithClock makes expiry follow clk instead of the system's clock.
func WithClock(clk clock.Clock) Option { return func(o *options) { o.clock = clk } }

// Open connects to every root; a directory is created if it does not exist.
func Open(ctx context.Context, config Config, opts ...Option) (*Store, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("storage: %w", err)
	}
	o := options{clock: clock.System{}}
	for _, opt := range opts {
		opt(&o)
	}
	s := &Store{}
	for _, text := range append([]string{config.URL}, config.ExtraPrefixes...) {
		parsed, err := parseRoot(text)
		if err == nil {
			err = s.mount(ctx, parsed, config, o)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open storage %s: %w", text, err), s.Close())
		}
	}
	return s, nil
}

func (s *Store) mount(ctx context.Context, r root, config Config, o options) error {
	var (
		b   backend
		err error
	)
	switch r.scheme {
	case "file":
		b, err = s.openFiles(r, config, o)
	case "s3":
		b, err = openS3(ctx, r, config.S3, o.clock)
	case "gs":
		b, err = openGCS(ctx, r, o.clock)
	default:
		b, err = openAzure(ctx, r, o.clock)
	}
	if err != nil {
		return err
	}
	limited := &bounded{backend: b, limit: config.Timeout, clock: o.clock}
	if r.scheme == "file" {
		limited.slots = make(chan struct{}, filesAtOnce)
	}
	s.roots = append(s.roots, mounted{uri: r.uri(), backend: limited})
	return nil
}

// Close releases connections and directories.
func (s *Store) Close() error {
	var failures []error
	for _, m := range s.roots {
		failures = append(failures, m.backend.close())
	}
	return errors.Join(failures...)
}

// Root is what URIs of this store begin with, without a slash at the end: a bare absolute path for a directory.
func (s *Store) Root() string { return s.roots[0].uri }

// Roots are the roots of storage.url and storage.extraPrefixes, in this order, each as Root is.
func (s *Store) Roots() []string {
	roots := make([]string, len(s.roots))
	for i, m := range s.roots {
		roots[i] = m.uri
	}
	return roots
}

// resolve finds the backend of a URI and the key in it.
func (s *Store) resolve(uri string) (*bounded, string, error) {
	m, key, err := s.locate(uri)
	return m.backend, key, err
}

// locate finds the root of a URI and the key below it.
func (s *Store) locate(uri string) (mounted, string, error) {
	if rest, ok := strings.CutPrefix(uri, "file://"); ok {
		uri = rest
	}
	if rest, ok := strings.CutPrefix(uri, "abfss://"); ok {
		uri = "abfs://" + rest
	}
	for _, m := range s.roots {
		if key, ok := strings.CutPrefix(uri, m.uri+"/"); ok {
			if err := checkKey(key); err != nil {
				return mounted{}, "", fmt.Errorf("%s: %w", uri, err)
			}
			return m, key, nil
		}
	}
	return mounted{}, "", fmt.Errorf("%s: %w", uri, ErrForbiddenPath)
}

// Canonical returns the one form of a URI that this store itself writes, so that prefixes can be compared. uri names an
// object, or a directory with a slash at its end, that may are in this store; it returns ErrForbiddenPath for every other.
// It makes no request.
func (s *Store) Canonical(uri string) (string, error) {
	below, isDir := strings.CutSuffix(uri, "/")
	root, key, err := s.locate(below)
	if err != nil {
		return "", err
	}
	if isDir {
		key += "/"
	}
	return root.uri + "/" + key, nil
}

// checkKey rejects keys that could lead out of the root, or that other programs resolve to another object.
func checkKey(key string) error {
	for segment := range strings.SplitSeq(key, "/") {
		if segment == "" || segment == "." || segment == ".." || segment == tempDir || segment == claimsDir {
			return ErrForbiddenPath
		}
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }) {
		return ErrForbiddenPath
	}
	return nil
}
