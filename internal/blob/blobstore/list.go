package blobstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"gocloud.dev/blob"
)

// Object is one object that List finds.
type Object struct {
	// Name is the rest of the URI after the prefix and its slash.
	Name string
	// Size in bytes.
	Size int64
}

// List visits every object below uri, a "directory" with or without a slash at its end, in the order of their names. Finding
// none is not an error. It returns the first error of visit.
func (s *Store) List(ctx context.Context, uri string, visit func(Object) error) error {
	uri = strings.TrimRight(uri, "/")
	b, key, err := s.resolve(uri)
	if err != nil {
		return err
	}
	if err := b.list(ctx, key, visit); err != nil {
		return fmt.Errorf("list %s: %w", uri, err)
	}
	return nil
}

// list skips everything but regular files: links may lead out of the prefix.
func (f *files) list(ctx context.Context, key string, visit func(Object) error) error {
	err := fs.WalkDir(f.dir.FS(), key, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		name, below := strings.CutPrefix(path, key+"/")
		if !below || !entry.Type().IsRegular() {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return visit(Object{Name: name, Size: info.Size()})
	})
	if err = fileError(err); errors.Is(err, ErrNotExist) {
		return nil
	}
	return err
}

func (b *bucket) list(ctx context.Context, key string, visit func(Object) error) error {
	prefix := b.key(key) + "/"
	found := b.bucket.List(&blob.ListOptions{Prefix: prefix})
	for {
		object, err := found.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return bucketError(err)
		}
		// Some tools mark directories by empty objects.
		if name := strings.TrimPrefix(object.Key, prefix); name != "" && !strings.HasSuffix(name, "/") {
			if err := visit(Object{Name: name, Size: object.Size}); err != nil {
				return err
			}
		}
	}
}
