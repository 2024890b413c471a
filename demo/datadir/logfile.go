package datadir

import (
	"fmt"
	"os"
	"path/filepath"
)

// rotateAt is the size, in bytes, from which a log is put aside at the next start. One older log is kept.
const rotateAt = 16 << 20

// LogFile is the path of a component's log, after an overlong one was put aside.
func (d *Dir) LogFile(component string) (string, error) {
	path := filepath.Join(d.Logs(), component+".log")
	if info, err := os.Stat(path); err == nil && info.Size() > rotateAt {
		if err := os.Rename(path, path+".1"); err != nil {
			return "", fmt.Errorf("put the log %s aside: %w", path, err)
		}
	}
	return path, nil
}
