package demo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgembed"
	"github.com/flyte-binary/flyte-binary/manager/diagnose"
)

// leaveShell makes this process independent of what a user's shell holds for other programs. Files get the modes that they are made
// with, and tasks the file mode mask that they have in a container. The driver of Postgres reads variables that are about other
// databases. Variables that name files which do not exist would break programs that tasks use. Children get an environment of their own.
func leaveShell() error {
	syscall.Umask(0o022)
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "PG") {
			if err := os.Unsetenv(name); err != nil {
				return fmt.Errorf("drop the variable %s: %w", name, err)
			}
		}
	}
	for _, name := range []string{"TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"} {
		if _, err := os.Stat(os.Getenv(name)); errors.Is(err, fs.ErrNotExist) {
			if err := os.Unsetenv(name); err != nil {
				return fmt.Errorf("drop the variable %s: %w", name, err)
			}
		}
	}
	return nil
}

// machineNames are the names of this machine; none if it does not tell.
func machineNames() []string {
	name, err := os.Hostname()
	if err != nil {
		return []string{}
	}
	short, _, _ := strings.Cut(name, ".")
	return []string{name, short}
}

// notStarted explains why a part of the demo did not start. An interrupted start is not a failure.
func (d *demo) notStarted(part string, err error) error {
	var explained *diagnose.Failure
	if err == nil || errors.Is(err, context.Canceled) || errors.As(err, &explained) {
		return err
	}
	failure := &diagnose.Failure{
		Part: part, Tried: "start it on " + d.dir.Root(), Cause: err.Error(), Err: err,
		Fix: "the logs in " + d.dir.Logs() + " have more; docs/troubleshooting.md lists what may be wrong",
	}
	var shut *pgembed.ClosedError
	switch {
	case errors.As(err, &shut):
		failure.Fix = "choose a data directory elsewhere with --data-dir DIR, or open this one with `chmod o+x " + shut.Dir + "`"
	case errors.Is(err, syscall.ENOSPC), strings.Contains(err.Error(), "no space left on device"), strings.Contains(err.Error(), "No space left on device"):
		failure.Fix = "free space on the disk of " + d.dir.Root() + ", or choose a directory on another one with --data-dir DIR"
	}
	return failure
}
