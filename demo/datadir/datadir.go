// Package datadir is the layout of the demo's data directory, and the lock that keeps two demos from sharing one.
package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/flyte-binary/flyte-binary/manager/diagnose"
)

// Dir is an open data directory. Private directories below it are closed to other users.
type Dir struct {
	root      string
	lock      *os.File
	ephemeral bool
}

// Default is the default data directory: below the data home of the XDG rules when that is
// set, else in the home directory. Root's home is usually closed to the account that Postgres runs as, so
// root's demo lives below /var/lib.
func Default() (string, error) {
	base, err := Home()
	if err != nil {
		return "", err
	}
	return filepath.Join(base, "demo"), nil
}

// Home is the directory for all data of demos of this user.
func Home() (string, error) {
	if home := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, "flyte-binary"), nil
	}
	if os.Geteuid() == 0 {
		return "/var/lib/flyte-binary", nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", &diagnose.Failure{Part: part, Tried: "find the home directory", Cause: err.Error(), Fix: fixPlace, Err: err}
	}
	return filepath.Join(home, ".flyte-binary"), nil
}

const (
	part     = "data directory"
	fixPlace = "choose a directory that you own with --data-dir DIR"
)

// failed explains an error of the file system.
func failed(tried string, err error) *diagnose.Failure {
	f := &diagnose.Failure{Part: part, Tried: tried, Cause: err.Error(), Fix: fixPlace, Err: err}
	var file *fs.PathError
	if errors.As(err, &file) {
		f.Cause = file.Path + ": " + file.Err.Error()
	}
	if errors.Is(err, syscall.ENOSPC) {
		f.Fix = "free space on this disk, or choose a directory on another one with --data-dir DIR"
	}
	return f
}

// Open creates the directory if it is missing and takes its lock, which the kernel releases when the process ends. It
// refuses a copy of another directory. Errors are *diagnose.Failure.
func Open(root string) (*Dir, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, failed("find "+root, err)
	}
	// Other users may traverse it, since Postgres runs as another account under root; they cannot list it.
	if err := os.MkdirAll(root, 0o711); err != nil { //nolint:gosec // as said above
		return nil, failed("create "+root, err)
	}
	d := &Dir{root: root}
	if err := d.takeLock(); err != nil {
		return nil, err
	}
	for _, private := range []string{d.Logs(), d.Secrets(), d.SecretValues(), d.Blobs(), d.Node()} {
		if err := os.MkdirAll(private, 0o700); err != nil {
			return nil, errors.Join(failed("create "+private, err), d.Close())
		}
	}
	return d, nil
}

// OpenTemporary creates a directory that Close removes.
func OpenTemporary() (*Dir, error) {
	root, err := os.MkdirTemp("", "flyte-binary-demo-")
	if err != nil {
		return nil, failed("create a temporary directory", err)
	}
	if err := os.Chmod(root, 0o711); err != nil { //nolint:gosec // Postgres must pass through, see Open
		return nil, failed("create a temporary directory", err)
	}
	d, err := Open(root)
	if err != nil {
		return nil, err
	}
	d.ephemeral = true
	return d, nil
}

func (d *Dir) takeLock() error {
	lock, err := os.OpenFile(d.path("lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return failed("open the lock", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := os.ReadFile(lock.Name())
		_ = lock.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return failed("lock "+d.root, err)
		}
		who := ""
		if pid := strings.TrimSpace(string(holder)); pid != "" {
			who = " (process " + pid + ")"
		}
		return &diagnose.Failure{
			Part: part, Tried: "lock " + d.root, Cause: "another demo" + who + " uses it", Err: err,
			Fix: "stop it, or start this one with --data-dir DIR or --ephemeral",
		}
	}
	last, err := os.ReadFile(lock.Name())
	if err == nil {
		err = d.settle(len(last) > 0)
	}
	if err != nil {
		return errors.Join(err, lock.Close())
	}
	if err := errors.Join(lock.Truncate(0), write(lock, strconv.Itoa(os.Getpid())+"\n")); err != nil {
		_ = lock.Close()
		return failed("write the lock", err)
	}
	d.lock = lock
	return nil
}

func write(file *os.File, text string) error {
	_, err := file.WriteAt([]byte(text), 0)
	return err
}

// Close releases the lock, and removes a temporary directory. Every demo on it must have stopped.
func (d *Dir) Close() error {
	err := errors.Join(d.lock.Truncate(0), d.lock.Close())
	if d.ephemeral {
		err = errors.Join(err, os.RemoveAll(d.root))
	}
	return err
}

// Root is the directory itself.
func (d *Dir) Root() string { return d.root }

// Postgres is the directory of the database.
func (d *Dir) Postgres() string { return d.path("postgres") }

// Kubernetes is the directory of the API server.
func (d *Dir) Kubernetes() string { return d.path("kubernetes") }

// Node is the directory of pods' files.
func (d *Dir) Node() string { return d.path("node") }

// Blobs is the directory of the object store.
func (d *Dir) Blobs() string { return d.path("blobs") }

// Logs is the directory with one log file per component.
func (d *Dir) Logs() string { return d.path("logs") }

// Secrets is the directory of keys that must stay the same across restarts.
func (d *Dir) Secrets() string { return d.path("secrets") }

// SecretValues is the directory of the encrypted secrets of tasks.
func (d *Dir) SecretValues() string { return d.path("secret-values") }

// Environments is the directory of the Python environments that tasks run in instead of images.
func (d *Dir) Environments() string { return d.path("environments") }

func (d *Dir) path(name string) string { return filepath.Join(d.root, name) }
