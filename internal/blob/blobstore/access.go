package blobstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"slices"
)

// ReadAll reads an object of at most limit bytes; 0 means any size.
func (s *Store) ReadAll(ctx context.Context, uri string, limit int64) ([]byte, error) {
	b, key, err := s.resolve(uri)
	if err != nil {
		return nil, err
	}
	body, err := b.readAll(ctx, key, limit)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", uri, err)
	}
	if limit > 0 && int64(len(body)) > limit {
		return nil, fmt.Errorf("read %s: %w: more than %d bytes", uri, ErrTooLarge, limit)
	}
	return body, nil
}

// ReadRange reads up to length bytes of an object from an offset, and returns what the object is. Nothing is read after
// its end.
func (s *Store) ReadRange(ctx context.Context, uri string, offset, length int64) ([]byte, Info, error) {
	b, key, err := s.resolve(uri)
	if err != nil {
		return nil, Info{}, err
	}
	info, err := b.stat(ctx, key)
	if err != nil {
		return nil, Info{}, fmt.Errorf("stat %s: %w", uri, err)
	}
	if length = min(length, info.Size-offset); length <= 0 {
		return nil, info, nil
	}
	body, err := b.readRange(ctx, key, offset, length)
	if err != nil {
		return nil, Info{}, fmt.Errorf("read %s: %w", uri, err)
	}
	return body, info, nil
}

// NewReader opens an object. The caller closes it.
func (s *Store) NewReader(ctx context.Context, uri string) (io.ReadCloser, error) {
	b, key, err := s.resolve(uri)
	if err != nil {
		return nil, err
	}
	r, err := b.open(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", uri, err)
	}
	return r, nil
}

// WriteAll writes an object. Readers see the old one or the whole new one. The body must not change afterwards.
func (s *Store) WriteAll(ctx context.Context, uri string, body []byte) error {
	b, key, err := s.resolve(uri)
	if err != nil {
		return err
	}
	if err := b.writeAll(ctx, key, body); err != nil {
		return fmt.Errorf("write %s: %w", uri, err)
	}
	return nil
}

// NewWriter starts writing an object, which appears when Close succeeds and not before. To abort, cancel the context
// and then Close.
func (s *Store) NewWriter(ctx context.Context, uri string) (io.WriteCloser, error) {
	b, key, err := s.resolve(uri)
	if err != nil {
		return nil, err
	}
	w, err := b.create(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", uri, err)
	}
	return w, nil
}

// Stat describes an object without reading it.
func (s *Store) Stat(ctx context.Context, uri string) (Info, error) {
	b, key, err := s.resolve(uri)
	if err != nil {
		return Info{}, err
	}
	info, err := b.stat(ctx, key)
	if err != nil {
		return Info{}, fmt.Errorf("stat %s: %w", uri, err)
	}
	return info, nil
}

// Delete removes an object. A missing object is not an error.
func (s *Store) Delete(ctx context.Context, uri string) error {
	b, key, err := s.resolve(uri)
	if err != nil {
		return err
	}
	if err := b.remove(ctx, key); err != nil && !errors.Is(err, ErrNotExist) {
		return fmt.Errorf("delete %s: %w", uri, err)
	}
	return nil
}

// SignPut creates a URL by which one object can be written.
func (s *Store) SignPut(ctx context.Context, uri string, o PutOptions) (Signed, error) {
	b, key, err := s.resolve(uri)
	if err != nil {
		return Signed{}, err
	}
	signed, err := b.signPut(ctx, key, o)
	if err != nil {
		return Signed{}, fmt.Errorf("sign put of %s: %w", uri, err)
	}
	return signed, nil
}

// SignGet creates a URL by which one object can be read.
func (s *Store) SignGet(ctx context.Context, uri string, o GetOptions) (Signed, error) {
	b, key, err := s.resolve(uri)
	if err != nil {
		return Signed{}, err
	}
	signed, err := b.signGet(ctx, key, o)
	if err != nil {
		return Signed{}, fmt.Errorf("sign get of %s: %w", uri, err)
	}
	return signed, nil
}

// Origins are the origins of signed URLs, as scheme://host:port. Pages that load the URLs must allow them in their
// content security policy.
func (s *Store) Origins() []string {
	var origins []string
	for _, m := range s.roots {
		if origin := m.backend.origin(); origin != "" && !slices.Contains(origins, origin) {
			origins = append(origins, origin)
		}
	}
	return origins
}

// originOf is the origin of a URL; empty if it has none.
func originOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// Ping reports whether the store answers; it writes nothing.
func (s *Store) Ping(ctx context.Context) error {
	_, err := s.Stat(ctx, s.Root()+"/.flyte-ping")
	if errors.Is(err, ErrNotExist) {
		return nil
	}
	return err
}

// probeKey is overwritten by CheckWrite again and again; no client is given it.
const probeKey = "/.flyte-probe"

// CheckWrite reports whether the store takes writes, by overwriting one small object of its own.
func (s *Store) CheckWrite(ctx context.Context) error {
	return s.WriteAll(ctx, s.Root()+probeKey, []byte("flyte"))
}

// FreeBytes is the space that is left on the fullest disk of all roots that are directories; false when none is.
func (s *Store) FreeBytes(ctx context.Context) (uint64, bool, error) {
	least, found := uint64(math.MaxUint64), false
	for _, m := range s.roots {
		disk, ok := m.backend.backend.(*files)
		if !ok {
			continue
		}
		free, err := call(ctx, m.backend, disk.freeBytes, nil)
		if err != nil {
			return 0, true, fmt.Errorf("free space of %s: %w", m.uri, err)
		}
		least, found = min(least, free), true
	}
	return least, found, nil
}

// Check writes, reads and deletes a small object. The error names the step that failed.
func (s *Store) Check(ctx context.Context) error { return s.CheckRoot(ctx, s.Root()) }

// CheckRoot is Check for one of Roots.
func (s *Store) CheckRoot(ctx context.Context, root string) error {
	uri := root + "/.flyte-check-" + rand.Text()
	want := []byte("flyte")
	if err := s.WriteAll(ctx, uri, want); err != nil {
		return err
	}
	got, err := s.ReadAll(ctx, uri, 1024)
	if err == nil && !bytes.Equal(got, want) {
		err = fmt.Errorf("read %s: the content differs from what was written", uri)
	}
	return errors.Join(err, s.Delete(ctx, uri))
}
