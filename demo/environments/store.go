package environments

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// Names in the directory of an environment.
const (
	venvName     = "venv"
	filesName    = "files"
	manifestName = "manifest"
)

// prefixLength is how much of the tag the name of a directory has: installers write the path of the interpreter into the
// first line of scripts, which may not be long.
const prefixLength = 16

// lockPause is the pause between two attempts to get a lock.
const lockPause = 100 * time.Millisecond

// Store is a directory of environments. Any number of processes may use it at a time.
type Store struct {
	dir string
	clk clock.Clock
}

// New returns the store in a directory, which Make creates.
func New(dir string, clk clock.Clock) *Store { return &Store{dir: dir, clk: clk} }

// Cache is the directory of the installer's cache. It is on the file system of the environments, so that files can be
// linked.
func (s *Store) Cache() string { return filepath.Join(s.dir, "cache") }

// Find returns the environment of a tag and marks it as used; nil if there is none. An environment whose interpreter or
// whose program for tasks is missing is an error that says so.
func (s *Store) Find(tag string) (*Environment, error) {
	found, err := s.read(tag)
	if err != nil || found == nil {
		return nil, err
	}
	if err := found.usable(); err != nil {
		return nil, err
	}
	now := s.clk.Now()
	_ = os.Chtimes(s.recordPath(tag), now, now) // it only makes the environment look older
	return found, nil
}

// Sound is Find for those who can have the environment made again: it compares every file with the list that was written when
// the environment was made, and returns nil for an environment that has lost some.
func (s *Store) Sound(tag string) (*Environment, error) {
	found, err := s.Find(tag)
	var broken *BrokenError
	if errors.As(err, &broken) {
		return nil, nil //nolint:nilnil // documented
	}
	if err != nil || found == nil || found.intact() != nil {
		return nil, err
	}
	return found, nil
}

// Build makes an environment: it fills the directories of the environment, which exist and are empty, and completes the
// record.
type Build func(ctx context.Context, made Environment) (Record, error)

// Wanted says which environment is good enough.
type Wanted struct {
	// Since is when the environment must have been made at the earliest.
	Since time.Time
	// Description is the digest of what it must have been made from; empty for any.
	Description string
}

func (w Wanted) has(env *Environment) bool {
	return !env.Made.Before(w.Since) && (w.Description == "" || w.Description == env.Description)
}

// Make returns the environment of a tag. If there is none, or it is broken or not as wanted, build makes one; otherwise made
// is false. Of many that ask at once one builds, and the others wait: waiting is called once if that is necessary. A build that
// fails leaves nothing.
func (s *Store) Make(ctx context.Context, tag string, wanted Wanted, waiting func(), build Build) (env *Environment, made bool, failure error) {
	if _, ok := TagOf(":" + tag); !ok {
		return nil, false, fmt.Errorf("the tag %q is not a digest of layers: want 32 hexadecimal digits", tag)
	}
	if err := s.prepare(); err != nil {
		return nil, false, err
	}
	unlock, err := s.lock(ctx, tag, waiting)
	if err != nil {
		return nil, false, err
	}
	defer unlock()
	if env, err = s.Sound(tag); err != nil || env != nil && wanted.has(env) {
		return env, false, err
	}
	name := tag[:prefixLength] + "-" + strings.ToLower(rand.Text()[:6])
	root := filepath.Join(s.dir, "made", name)
	defer func() {
		if failure != nil {
			failure = errors.Join(failure, os.RemoveAll(root))
		}
	}()
	next := Environment{Tag: tag, Venv: filepath.Join(root, venvName), Files: filepath.Join(root, filesName)}
	for _, dir := range []string{root, next.Venv, next.Files} {
		if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // as above
			return nil, false, fmt.Errorf("create an environment: %w", err)
		}
	}
	if next.Record, err = build(ctx, next); err != nil {
		return nil, false, err
	}
	next.Dir, next.Made, next.Description = name, s.clk.Now().UTC(), wanted.Description
	if err := next.usable(); err != nil {
		return nil, false, err
	}
	if err := next.writeManifest(); err != nil {
		return nil, false, err
	}
	if err := s.publish(tag, next.Record); err != nil {
		return nil, false, err
	}
	return &next, true, nil
}

// prepare creates the directories. Tasks may run as other users and must reach their environment by its name, but those users need
// not list the environments, and must not reach the cache and the locks: a process that can open a lock can hold it.
func (s *Store) prepare() error {
	if err := os.MkdirAll(s.dir, 0o711); err != nil { //nolint:gosec // as said above
		return fmt.Errorf("create the directory of environments: %w", err)
	}
	if err := os.Chmod(s.dir, 0o711); err != nil { //nolint:gosec // as said above; earlier versions have left it open
		return fmt.Errorf("close the directory of environments: %w", err)
	}
	for name, mode := range map[string]os.FileMode{"made": 0o711, "tags": 0o700, "locks": 0o700, "cache": 0o700} {
		dir := filepath.Join(s.dir, name)
		if err := os.MkdirAll(dir, mode); err != nil {
			return fmt.Errorf("create the directory of environments: %w", err)
		}
		if err := os.Chmod(dir, mode); err != nil {
			return fmt.Errorf("close the directory of environments: %w", err)
		}
	}
	return nil
}

// lock waits for the lock of a tag. The kernel releases it when the process ends, however it ends.
func (s *Store) lock(ctx context.Context, tag string, waiting func()) (unlock func(), err error) {
	for first := true; ; first = false {
		unlock, err := s.tryLock(tag)
		if err != nil || unlock != nil {
			return unlock, err
		}
		if first && waiting != nil {
			waiting()
		}
		if err := clock.Sleep(ctx, s.clk, lockPause); err != nil {
			return nil, fmt.Errorf("wait for the build of another process: %w", err)
		}
	}
}

// tryLock returns nil if another process has the lock.
func (s *Store) tryLock(tag string) (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(s.dir, "locks", tag), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of an environment: %w", err)
	}
	switch err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case err == nil:
		return func() { _ = file.Close() }, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, file.Close()
	default:
		return nil, errors.Join(fmt.Errorf("lock an environment: %w", err), file.Close())
	}
}
