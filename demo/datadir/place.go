package datadir

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/flyte-binary/flyte-binary/manager/diagnose"
)

// settle records where the directory is, since runs name their files by full path. A copy is refused: while the original
// exists, the copy's runs would change the original's files, and the database of a directory that was copied while a
// demo used it may be torn. interrupted says that the last demo on the directory did not stop, or had not when it was
// copied.
func (d *Dir) settle(interrupted bool) error {
	content, err := os.ReadFile(d.path("place"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failed("read where the directory was", err)
	}
	before := strings.TrimSuffix(string(content), "\n")
	if before == d.root {
		return nil
	}
	if before != "" {
		original, err := os.Stat(before)
		switch {
		case err == nil && same(original, d.root): // through a link
			return nil
		case err == nil:
			return &diagnose.Failure{
				Part: part, Cause: d.root + " is a copy of " + before + ", and its runs would change the files of the original",
				Fix: "start the demo there, or on an empty directory with --data-dir DIR",
			}
		case interrupted:
			return &diagnose.Failure{
				Part: part, Cause: d.root + " was copied or moved from " + before + " before the demo there had stopped, so its database may be torn",
				Fix: "stop the demo and copy again, or move the directory back",
			}
		}
	}
	if err := os.WriteFile(d.path("place"), []byte(d.root+"\n"), 0o600); err != nil {
		return failed("record where the directory is", err)
	}
	return nil
}

func same(original fs.FileInfo, root string) bool {
	here, err := os.Stat(root)
	return err == nil && os.SameFile(original, here)
}
