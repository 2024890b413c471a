package blobstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"gocloud.dev/blob"
	"golang.org/x/sync/errgroup"
)

const (
	// removeAtOnce is how many objects of a bucket are removed at the same time.
	removeAtOnce = 16
	// entriesAtOnce is how many names of a directory are read at a time.
	entriesAtOnce = 256
)

// DeletePrefix removes every object whose URI begins with uri, which must end with a slash and are below a root, not be
// one. Finding none is not an error. If the context ends or the store fails, some objects are left; call it again to
// continue. Objects that are written meanwhile may stay.
func (s *Store) DeletePrefix(ctx context.Context, uri string) error {
	below, found := strings.CutSuffix(uri, "/")
	if !found {
		return fmt.Errorf("%s: %w: a prefix ends with a slash", uri, ErrForbiddenPath)
	}
	b, key, err := s.resolve(below)
	if err != nil {
		return err
	}
	if err := b.removePrefix(ctx, key, func(Object) {}); err != nil {
		return fmt.Errorf("delete everything below %s: %w", below, err)
	}
	return nil
}

// removePrefix removes a directory in batches. It follows no links: their targets may not belong to the task.
func (f *files) removePrefix(ctx context.Context, key string, removed func(Object)) error {
	steps := strings.Split(key, "/")
	for i := range steps {
		info, err := f.dir.Lstat(strings.Join(steps[:i+1], "/"))
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNotDirectory):
			return nil
		case err != nil:
			return fileError(err)
		case !info.IsDir():
			return fmt.Errorf("%w: %s is not a directory", ErrForbiddenPath, strings.Join(steps[:i+1], "/"))
		}
	}
	for {
		names, err := f.someEntries(key)
		if err != nil {
			return err
		}
		if len(names) == 0 {
			break
		}
		for _, name := range names {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := f.dir.RemoveAll(key + "/" + name); err != nil {
				return fileError(err)
			}
			removed(Object{Name: name})
		}
	}
	if err := f.dir.Remove(key); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fileError(err)
	}
	return nil
}

func (f *files) someEntries(key string) ([]string, error) {
	dir, err := f.dir.OpenFile(key, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a named pipe must not be waited for
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		return nil, fileError(err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(entriesAtOnce)
	if errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist) { // another call has removed the directory meanwhile
		err = nil
	}
	return names, err
}

// removePrefix lists and removes. Object stores have no call that all of them share to remove many at once.
func (b *bucket) removePrefix(ctx context.Context, key string, removed func(Object)) error {
	removals, removing := errgroup.WithContext(ctx)
	removals.SetLimit(removeAtOnce)
	list := b.bucket.List(&blob.ListOptions{Prefix: b.key(key) + "/"})
	for {
		object, err := list.Next(removing)
		if errors.Is(err, io.EOF) {
			return removals.Wait()
		}
		if err != nil {
			return errors.Join(removals.Wait(), err)
		}
		removals.Go(func() error {
			if err := bucketError(b.bucket.Delete(removing, object.Key)); err != nil && !errors.Is(err, ErrNotExist) {
				return err
			}
			removed(Object{Name: object.Key, Size: object.Size})
			return nil
		})
	}
}
