package blobstore

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // the protocol's digest of transport, no secret
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// tempDir, below the root, holds unfinished files: on the same file system, so that a rename is atomic, and hidden from
// tasks that list directories.
const tempDir = ".flyte-tmp"

// abandonedAfter is the age from which a file in tempDir counts as abandoned by its writer.
const abandonedAfter = 24 * time.Hour

// files is a directory. It goes through os.Root, so that no symbolic link that a task made leads out of it. It is not
// gocloud's fileblob, which reserves names, escapes others and writes extra files next to the objects: tasks open the paths
// themselves and must find exactly the bytes and names that were written.
type files struct {
	dir    *os.Root
	server *fileServer
	sync   bool
}

var _ backend = (*files)(nil)

func (s *Store) openFiles(r root, config Config, o options) (backend, error) {
	if err := os.MkdirAll(path.Join(r.prefix, tempDir), 0o755); err != nil { //nolint:gosec // tasks read here
		return nil, fmt.Errorf("create directory: %w", err)
	}
	dir, err := os.OpenRoot(r.prefix)
	if err != nil {
		return nil, fmt.Errorf("open directory: %w", err)
	}
	if s.files == nil {
		s.files = newFileServer(config, o.clock)
	}
	f := &files{dir: dir, server: s.files, sync: config.Sync}
	s.files.roots = append(s.files.roots, servedRoot{prefix: r.prefix + "/", files: f})
	f.sweep(o.clock)
	return f, nil
}

// sweep removes files of killed writers.
func (f *files) sweep(clk clock.Clock) {
	entries, err := fs.ReadDir(f.dir.FS(), tempDir)
	if err != nil {
		return // it only saves space
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && clk.Now().Sub(info.ModTime()) > abandonedAfter {
			_ = f.dir.Remove(path.Join(tempDir, entry.Name()))
		}
	}
}

func (f *files) open(_ context.Context, key string) (io.ReadCloser, error) {
	return f.openFile(key)
}

func (f *files) openRange(_ context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	file, err := f.openFile(key)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(file, offset, length), file}, nil
}

// openFile opens regular files only. Tasks can put anything into the directory: opening a named pipe would wait for its
// writer, which no context ends, so the kind of file is looked at before anything can wait.
func (f *files) openFile(key string) (*os.File, error) {
	file, err := f.dir.OpenFile(key, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fileError(err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotExist
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func (f *files) create(ctx context.Context, key string) (io.WriteCloser, error) {
	return f.createFile(ctx, key)
}

func (f *files) createFile(ctx context.Context, key string) (*pendingFile, error) {
	temp := path.Join(tempDir, rand.Text())
	file, err := f.dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrNotExist) { // tempDir was removed from outside
		if err = f.dir.Mkdir(tempDir, 0o755); err == nil || errors.Is(err, fs.ErrExist) {
			file, err = f.dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		}
	}
	if err != nil {
		return nil, err
	}
	return &pendingFile{File: file, ctx: ctx, files: f, temp: temp, key: key}, nil
}

func (f *files) stat(_ context.Context, key string) (Info, error) {
	info, err := f.dir.Stat(key)
	if err != nil {
		return Info{}, fileError(err)
	}
	if !info.Mode().IsRegular() {
		return Info{}, ErrNotExist
	}
	return Info{Size: info.Size(), ModTime: info.ModTime().UTC()}, nil
}

// freeBytes is the space that is left for objects.
func (f *files) freeBytes() (uint64, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(f.dir.Name(), &disk); err != nil {
		return 0, err
	}
	return disk.Bavail * uint64(disk.Bsize), nil //nolint:gosec // the size of a block is positive; its type depends on the system
}

func (f *files) remove(_ context.Context, key string) error { return fileError(f.dir.Remove(key)) }

func (f *files) close() error { return f.dir.Close() }

func (f *files) signPut(_ context.Context, key string, o PutOptions) (Signed, error) {
	return f.server.signPut(f.path(key), o), nil
}

func (f *files) signGet(_ context.Context, key string, o GetOptions) (Signed, error) {
	return f.server.signGet(f.path(key), o), nil
}

func (f *files) origin() string { return originOf(f.server.base) }

func (f *files) path(key string) string { return f.dir.Name() + "/" + key }

// fileError maps errors of the file system to those of this package. A file where the path needs a directory means that
// the object cannot exist.
func fileError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNotDirectory),
		errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.ELOOP): // a socket; links that lead to each other
		return fmt.Errorf("%w: %w", ErrNotExist, err)
	case isEscape(err), errors.Is(err, errNameTooLong):
		return fmt.Errorf("%w: %w", ErrForbiddenPath, err)
	}
	return err
}

// pendingFile becomes the object on Close, unless its context has ended.
type pendingFile struct {
	*os.File
	ctx       context.Context //nolint:containedctx // its end aborts the write
	files     *files
	temp, key string
	closed    bool
}

// Close finishes the object, or removes every trace of it. It replaces what is there.
func (p *pendingFile) Close() error { return p.finish(false, nil) }

// finish is Close. With createOnly it returns ErrExists, and changes nothing, when there is an object whose MD5 is not
// sum.
func (p *pendingFile) finish(createOnly bool, sum []byte) error {
	if p.closed {
		return fs.ErrClosed
	}
	p.closed = true
	err := p.ctx.Err()
	if err == nil && p.files.sync {
		err = p.Sync()
	}
	err = errors.Join(err, p.File.Close())
	move := p.files.dir.Rename
	if createOnly {
		move = p.files.dir.Link // unlike a rename, it never replaces
	}
	if err == nil {
		err = p.publish(move)
	}
	if createOnly && errors.Is(err, fs.ErrExist) {
		err = p.files.same(p.key, sum)
	}
	if err != nil || createOnly {
		_ = p.files.dir.Remove(p.temp) // the reason it failed matters more
	}
	return err
}

func (p *pendingFile) publish(move func(from, to string) error) error {
	err := move(p.temp, p.key)
	if !errors.Is(err, fs.ErrNotExist) {
		return fileError(err)
	}
	if err := p.files.dir.MkdirAll(path.Dir(p.key), 0o755); err != nil {
		return fileError(err)
	}
	return fileError(move(p.temp, p.key))
}

// same returns ErrExists unless the content of an object has an MD5.
func (f *files) same(key string, sum []byte) error {
	file, err := f.openFile(key)
	if errors.Is(err, ErrNotExist) {
		return ErrExists // no object, but in its place
	}
	if err != nil {
		return err
	}
	defer file.Close()
	digest := md5.New() //nolint:gosec // the protocol's digest of transport, no secret
	if _, err := io.Copy(digest, file); err != nil {
		return err
	}
	if !bytes.Equal(digest.Sum(nil), sum) {
		return ErrExists
	}
	return nil
}

// abandon removes the unfinished file.
func (p *pendingFile) abandon() {
	if p.closed {
		return
	}
	p.closed = true
	_ = p.File.Close()
	_ = p.files.dir.Remove(p.temp)
}
