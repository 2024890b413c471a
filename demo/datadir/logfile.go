package datadir

import (
	"fmt"
	"os"
	"path/filepath"
)

// rotateAt is the size in bytes from which a log is rotated at the next start. One older log is kept.
const rotateAt = 16 << 20

// LogFile returns the path of a component's log, and rotates the log if it is too large.
func (d *Dir) LogFile(component string) (string, error) {
	path := filepath.Join(d.Logs(), component+".log")
	if info, err := os.Stat(path); err == nil && info.Size() > rotateAt {
		if err := os.Rename(path, path+".1"); err != nil {
			return "", fmt.Errorf("rotate the log %s: %w", path, err)
		}
	}
	return path, nil
}
