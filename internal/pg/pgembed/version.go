package pgembed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// versionLimit bounds the question which version a program has.
const versionLimit = time.Minute

// ProgramVersion is the version of the server programs in a directory, such as 18.4. A major version is what comes before the
// first point.
func ProgramVersion(ctx context.Context, binDir string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(binDir, "postgres"), "--version")
	command.Env = environment()
	said, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("version of %s: %w", command.Path, err)
	}
	// postgres (PostgreSQL) 18.4 (Debian 18.4-1)
	_, version, _ := strings.Cut(string(said), "(PostgreSQL) ")
	words := strings.Fields(version)
	if len(words) == 0 {
		return "", fmt.Errorf("%s says %q, not its version", command.Path, said)
	}
	return words[0], nil
}

// Major is the major version of a version: 18 of 18.4.
func Major(version string) (int, error) {
	first, _, _ := strings.Cut(version, ".")
	// 19beta1
	end := strings.IndexFunc(first, func(r rune) bool { return r < '0' || r > '9' })
	if end >= 0 {
		first = first[:end]
	}
	major, err := strconv.Atoi(first)
	if err != nil {
		return 0, fmt.Errorf("version %q of Postgres has no number", version)
	}
	return major, nil
}

// DataMajor is the major version that wrote the data below dataDir, as in Config.DataDir; 0 if there is none yet. Only programs
// of that version can open it.
func DataMajor(dataDir string) (int, error) {
	content, err := os.ReadFile(filepath.Join(dataDir, "data", "PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("version of the database's files: %w", err)
	}
	return Major(strings.TrimSpace(string(content)))
}
