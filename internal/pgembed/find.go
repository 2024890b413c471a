package pgembed

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// BinDirEnv names the environment variable with the directory of initdb and postgres, for machines with an unusual
// layout.
const BinDirEnv = "FLYTE_PG_BIN"

// ErrNotInstalled says that the machine has no Postgres server programs.
var ErrNotInstalled = errors.New("no Postgres server programs (initdb, postgres) found: install them, on Debian and " +
	"Ubuntu with `apt-get install postgresql`, or set " + BinDirEnv + " to their directory")

// packaged are the directories in which distributions install each major version.
var packaged = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql@*/bin",
	"/usr/local/opt/postgresql@*/bin",
}

// Find returns the directory with the server programs: $FLYTE_PG_BIN when it is set, else the highest version of the
// distribution's packages, else wherever initdb is on the PATH.
func Find() (string, error) {
	if dir := os.Getenv(BinDirEnv); dir != "" {
		if !complete(dir) {
			return "", fmt.Errorf("%s=%s has no initdb and postgres", BinDirEnv, dir)
		}
		return dir, nil
	}
	var found []string
	for _, pattern := range packaged {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			return "", fmt.Errorf("glob %s: %w", pattern, err)
		}
		found = append(found, matches...)
	}
	found = slices.DeleteFunc(found, func(dir string) bool { return !complete(dir) })
	if len(found) > 0 {
		return slices.MaxFunc(found, func(a, b string) int { return major(a) - major(b) }), nil
	}
	if initdb, err := exec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(initdb); err == nil && complete(filepath.Dir(real)) {
			return filepath.Dir(real), nil
		}
	}
	return "", ErrNotInstalled
}

func complete(dir string) bool {
	for _, program := range []string{"initdb", "postgres"} {
		if info, err := os.Stat(filepath.Join(dir, program)); err != nil || info.IsDir() {
			return false
		}
	}
	return true
}

// major reads the version from a path such as /usr/lib/postgresql/15/bin; 0 when there is none.
func major(binDir string) int {
	name := filepath.Base(filepath.Dir(binDir))
	end := len(name)
	start := end
	for start > 0 && name[start-1] >= '0' && name[start-1] <= '9' {
		start--
	}
	version, err := strconv.Atoi(name[start:end])
	if err != nil {
		return 0
	}
	return version
}
