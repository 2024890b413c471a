package figures

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// createdFiles is how many files fileCost creates.
const createdFiles = 200

// fileCost returns how long it takes to create a directory with a file, as the object store does for each run. It is the median of
// many, and shows what the disk was used for before: ext4 does not use the number of a file again in the five minutes after its
// deletion, but looks at each when a file is created, so that after some thousand deletions this takes ten times as long. The files
// stay until the bench removes its directory, for the same reason.
func fileCost(dir string) (time.Duration, error) {
	dir, err := os.MkdirTemp(dir, "files-")
	if err != nil {
		return 0, err
	}
	var taken []time.Duration
	for i := range createdFiles {
		began := time.Now()
		place := filepath.Join(dir, fmt.Sprint(i))
		if err := os.Mkdir(place, 0o755); err != nil {
			return 0, err
		}
		file, err := os.Create(filepath.Join(place, "file"))
		if err != nil {
			return 0, err
		}
		if err := file.Close(); err != nil {
			return 0, err
		}
		taken = append(taken, time.Since(began))
	}
	return Percentile(taken, 50), nil
}
