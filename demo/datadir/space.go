package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/flyte-binary/flyte-binary/manager/diagnose"
)

// firstStart is the space in bytes that the first start takes: database and API server reserve their logs, and there must be some
// left for runs.
const firstStart = 256 << 20

// HasRoom returns a *diagnose.Failure if the disk is too full for a first start. A directory that has a database is not judged: the
// demo must start to delete old runs.
func (d *Dir) HasRoom() error {
	if _, err := os.Stat(filepath.Join(d.Postgres(), "data", "PG_VERSION")); !errors.Is(err, fs.ErrNotExist) {
		return nil // whatever else is wrong, its user will say it
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(d.root, &disk); err != nil {
		return failed("look at the disk of "+d.root, err)
	}
	free := disk.Bavail * uint64(disk.Bsize) //nolint:gosec // the size of a block is positive; its type depends on the system
	if free >= firstStart {
		return nil
	}
	return &diagnose.Failure{
		Part: part, Tried: "create the data in " + d.root, Err: syscall.ENOSPC,
		Cause: fmt.Sprintf("%d MiB are free on its disk, and the first start needs %d MiB", free>>20, firstStart>>20),
		Fix:   "free space on this disk, or choose a directory on another one with --data-dir DIR",
	}
}
