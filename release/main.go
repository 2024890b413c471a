// Command release packs what people download: the chart, and archives and wheels of built programs with version, licenses and a
// list of what is inside (SBOM). It writes the same bytes for the same commit. release/build.sh builds the programs and runs it;
// docs/releases.md explains the results.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// options are what is packed.
type options struct {
	// root is the checkout.
	root string
	// program is the built program. slim means that it is the one for clusters, which has no Postgres and no wheel.
	program string
	slim    bool
	// module and main are the directory of its module and its package there, with flags of go list.
	module string
	main   []string
	// goos and goarch are what it was built for.
	goos, goarch string
	// version is what git describes; made is the time of the commit.
	version string
	made    time.Time
	// wheelOnly leaves out the archive.
	wheelOnly bool
	// store leaves the wheel uncompressed, for tests.
	store bool
	// list is the file of the list of what is in the program, if nothing else is to be written.
	list string
	// out is the directory of the results.
	out string
}

func main() {
	var o options
	flag.StringVar(&o.root, "root", ".", "the checkout")
	flag.StringVar(&o.program, "program", "", "the built program")
	flag.BoolVar(&o.slim, "slim", false, "it is the program for clusters: no Postgres, no wheel")
	platform := flag.String("platform", "linux/amd64", "what it was built for")
	flag.StringVar(&o.version, "version", "", "what git describe says")
	epoch := flag.Int64("epoch", 0, "the time of the commit, in seconds since 1970")
	flag.StringVar(&o.out, "out", "dist", "directory for the results")
	flag.BoolVar(&o.wheelOnly, "wheel-only", false, "write the wheel and nothing else")
	flag.BoolVar(&o.store, "store", false, "do not compress the wheel, for tests")
	flag.StringVar(&o.list, "sbom", "", "only write the list of what is in the program to this file")
	chart := flag.String("chart", "", "only pack the chart in this directory")
	sums := flag.Bool("sums", false, "only write SHA256SUMS of what is in -out")
	flag.Parse()
	o.goos, o.goarch, _ = strings.Cut(*platform, "/")
	o.module, o.main = "demo", []string{"./cmd/flyte-binary"}
	if o.slim {
		o.module, o.main = ".", []string{"./manager/cmd/flyte-binary"}
	}
	o.made = time.Unix(*epoch, 0).UTC()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch {
	case *sums:
		err = writeSums(o.out)
	case *chart != "":
		err = packChart(o, *chart)
	default:
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// name is that of the program to people.
func (o options) name() string {
	if o.slim {
		return "flyte-binary-slim"
	}
	return "flyte-binary"
}

func run(ctx context.Context, o options) error {
	program, err := os.ReadFile(o.program)
	if err != nil {
		return err
	}
	parts, err := components(ctx, o)
	if err != nil {
		return err
	}
	list, err := bom(o, parts)
	if err != nil {
		return err
	}
	if o.list != "" {
		return os.WriteFile(o.list, list, 0o644) //nolint:gosec // a public file
	}
	documents := map[string][]byte{"THIRD_PARTY_LICENSES.txt": licenseTexts(parts)}
	for _, name := range []string{"LICENSE", "README.md"} {
		if documents[name], err = os.ReadFile(filepath.Join(o.root, name)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil { //nolint:gosec // build output
		return err
	}
	if !o.wheelOnly {
		if err := o.writeArchive(program, documents, list); err != nil {
			return err
		}
	}
	if o.slim {
		return nil
	}
	built, err := buildWheel(o, program, documents, list)
	if err != nil {
		return err
	}
	return o.write(built.name, built.content)
}

func (o options) writeArchive(program []byte, documents map[string][]byte, list []byte) error {
	base := fmt.Sprintf("%s-%s-%s-%s", o.name(), strings.TrimPrefix(o.version, "v"), o.goos, o.goarch)
	if err := o.write(base+".cdx.json", list); err != nil {
		return err
	}
	archive, err := tarball(base, o, program, documents)
	if err != nil {
		return err
	}
	return o.write(base+".tar.gz", archive)
}

func (o options) write(name string, content []byte) error {
	return os.WriteFile(filepath.Join(o.out, name), content, 0o644) //nolint:gosec // a public file
}
