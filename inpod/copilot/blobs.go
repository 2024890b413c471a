package copilot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
)

// Blobs is what the co-pilot uses of the object store.
type Blobs interface {
	NewReader(ctx context.Context, uri string) (io.ReadCloser, error)
	NewWriter(ctx context.Context, uri string) (io.WriteCloser, error)
	ReadAll(ctx context.Context, uri string, limit int64) ([]byte, error)
	WriteAll(ctx context.Context, uri string, body []byte) error
	List(ctx context.Context, uri string, visit func(blobstore.Object) error) error
}

// Stores is the installation's object store, and every other one that has inputs. Unlike the server it is not confined
// to configured roots: it has only the rights of the task.
type Stores struct {
	config blobstore.Config
	own    *blobstore.Store

	mu      sync.Mutex
	foreign map[string]*blobstore.Store // GUARDED_BY(mu): by root
}

var _ Blobs = (*Stores)(nil)

// OpenStores opens the installation's store. Credentials come from the environment: the standard variables and files of
// the clouds, or those of the SDK (FLYTE_AWS_ACCESS_KEY_ID, FLYTE_AWS_SECRET_ACCESS_KEY, FLYTE_AWS_ENDPOINT).
func OpenStores(ctx context.Context, config blobstore.Config, env func(string) string) (*Stores, error) {
	s3 := &config.S3
	if s3.Endpoint == "" {
		s3.Endpoint = env("FLYTE_AWS_ENDPOINT")
	}
	// Both or none: a key of the configuration never goes with a secret of the environment.
	if s3.AccessKeyID == "" && s3.SecretAccessKey == "" {
		s3.AccessKeyID, s3.SecretAccessKey = env("FLYTE_AWS_ACCESS_KEY_ID"), env("FLYTE_AWS_SECRET_ACCESS_KEY")
	}
	own, err := blobstore.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	return &Stores{config: config, own: own, foreign: map[string]*blobstore.Store{}}, nil
}

// Close releases connections.
func (s *Stores) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	failures := []error{s.own.Close()}
	for _, store := range s.foreign {
		failures = append(failures, store.Close())
	}
	return errors.Join(failures...)
}

// NewReader implements Blobs. A path outside of the store is read as a local file.
func (s *Stores) NewReader(ctx context.Context, uri string) (io.ReadCloser, error) {
	reader, err := s.own.NewReader(ctx, uri)
	if !errors.Is(err, blobstore.ErrForbiddenPath) {
		return reader, err
	}
	if path, local := localPath(uri); local {
		return openFile(path)
	}
	store, err := s.of(ctx, uri)
	if err != nil {
		return nil, err
	}
	return store.NewReader(ctx, uri)
}

// List implements Blobs.
func (s *Stores) List(ctx context.Context, uri string, visit func(blobstore.Object) error) error {
	err := s.own.List(ctx, uri, visit)
	if !errors.Is(err, blobstore.ErrForbiddenPath) {
		return err
	}
	if path, local := localPath(uri); local {
		return listFiles(path, visit)
	}
	store, err := s.of(ctx, uri)
	if err != nil {
		return err
	}
	return store.List(ctx, uri, visit)
}

// NewWriter implements Blobs. Only the installation's store is written to, or the run's own place for raw data.
func (s *Stores) NewWriter(ctx context.Context, uri string) (io.WriteCloser, error) {
	writer, err := s.own.NewWriter(ctx, uri)
	if !errors.Is(err, blobstore.ErrForbiddenPath) {
		return writer, err
	}
	store, err := s.of(ctx, uri)
	if err != nil {
		return nil, err
	}
	return store.NewWriter(ctx, uri)
}

// ReadAll implements Blobs. It reads the installation's store only: inputs.pb is always there.
func (s *Stores) ReadAll(ctx context.Context, uri string, limit int64) ([]byte, error) {
	return s.own.ReadAll(ctx, uri, limit)
}

// WriteAll implements Blobs. It writes to the installation's store only: outputs.pb and error.pb belong there.
func (s *Stores) WriteAll(ctx context.Context, uri string, body []byte) error {
	return s.own.WriteAll(ctx, uri, body)
}

// of opens the store of a URI that is not the installation's. It is opened once for each bucket, with the same
// credentials.
func (s *Stores) of(ctx context.Context, uri string) (*blobstore.Store, error) {
	parsed, err := url.Parse(uri)
	if err != nil || parsed.Host == "" {
		return nil, fmt.Errorf("%s: %w", uri, blobstore.ErrForbiddenPath)
	}
	root := (&url.URL{Scheme: parsed.Scheme, User: parsed.User, Host: parsed.Host}).String()
	s.mu.Lock()
	defer s.mu.Unlock()
	if store := s.foreign[root]; store != nil {
		return store, nil
	}
	config := s.config
	config.URL, config.ExtraPrefixes = root, nil
	store, err := blobstore.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	s.foreign[root] = store
	return store, nil
}

// localPath is the path of a URI that names a local file.
func localPath(uri string) (string, bool) {
	path := strings.TrimPrefix(uri, "file://")
	return path, strings.HasPrefix(path, "/")
}

// openFile opens a regular file for reading. Anything else counts as missing: an input that is a device or a pipe could
// block the download forever.
func openFile(path string) (io.ReadCloser, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a named pipe must not be waited for
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, blobstore.ErrNotExist)
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, blobstore.ErrNotExist), file.Close())
	}
	return file, nil
}
