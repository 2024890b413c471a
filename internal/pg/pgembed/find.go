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
	"Ubuntu with `apt-get install postgresql`, or set " + BinDirEnv + " to their directory (in a checkout, `make postgres` fetches them)")

// packaged are the directories in which distributions install each major version.
var packaged = []string{
	"/usr/lib/postgresql/*/bin",
	"/usr/pgsql-*/bin",
	"/opt/homebrew/opt/postgresql@*/bin",
	"/usr/local/opt/postgresql@*/bin",
}

// Find returns the directory with the server programs: $FLYTE_PG_BIN when it is set, else the first that is Installed. Links in
// the path are resolved, since under root the user of the server may be unable to follow them.
func Find() (string, error) {
	if dir := os.Getenv(BinDirEnv); dir != "" {
		real, err := Check(dir)
		if err != nil {
			return "", fmt.Errorf("%s: %w", BinDirEnv, err)
		}
		return real, nil
	}
	installed, err := Installed()
	if err != nil {
		return "", err
	}
	if len(installed) == 0 {
		return "", ErrNotInstalled
	}
	return installed[0], nil
}

// Check returns the real path of a directory, or an error if it has not both server programs.
func Check(dir string) (string, error) {
	if !complete(dir) {
		return "", fmt.Errorf("%s has no initdb and postgres: name the directory of Postgres's server programs", dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("directory of Postgres's programs: %w", err)
	}
	return filepath.Abs(real)
}

// Installed returns the directories with server programs of this machine: those of the distribution's packages, the highest
// version first, then that of the initdb on the PATH.
func Installed() ([]string, error) {
	var found []string
	for _, pattern := range packaged {
		matches, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("glob %s: %w", pattern, err)
		}
		found = append(found, matches...)
	}
	slices.SortStableFunc(found, func(a, b string) int { return major(b) - major(a) })
	if initdb, err := exec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(initdb); err == nil {
			found = append(found, filepath.Dir(real))
		}
	}
	return slices.DeleteFunc(found, func(dir string) bool { return !complete(dir) }), nil
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
