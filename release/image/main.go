package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// order is what to make.
type order struct {
	// programs are files by platform, such as linux/amd64.
	programs map[string]string
	// boms are CycloneDX documents by platform.
	boms              map[string]string
	version, revision string
	// made is the time of all files.
	made time.Time
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	o := order{programs: map[string]string{}, boms: map[string]string{}}
	flags.Func("program", "a program, as PLATFORM=FILE; repeat it for each platform", pairs(o.programs))
	flags.Func("sbom", "what is in a program, a CycloneDX document, as PLATFORM=FILE; repeat it for each platform", pairs(o.boms))
	flags.StringVar(&o.version, "version", "", "version of the program")
	flags.StringVar(&o.revision, "revision", "", "commit of the program")
	epoch := flags.Int64("epoch", 0, "time of all files, in seconds since 1970")
	layoutDir := flags.String("layout", "", "directory for the OCI layout; it is replaced")
	push := flags.String("push", "", "reference to push to, such as registry.example/flyte-binary:1.0")
	insecure := flags.Bool("insecure", false, "push without TLS")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if len(o.programs) == 0 || o.version == "" {
		return errors.New("-program and -version are required")
	}
	for platform := range o.programs {
		if o.boms[platform] == "" {
			return fmt.Errorf("-sbom %s=FILE is required", platform)
		}
	}
	o.made = time.Unix(*epoch, 0).UTC()
	made, err := build(o)
	if err != nil {
		return err
	}
	if *layoutDir != "" {
		if err := made.write(*layoutDir); err != nil {
			return err
		}
	}
	if *push != "" {
		if err := made.push(ctx, *push, *insecure); err != nil {
			return err
		}
	}
	return made.report(out)
}

func pairs(into map[string]string) func(string) error {
	return func(text string) error {
		platform, file, found := strings.Cut(text, "=")
		if !found || !strings.Contains(platform, "/") {
			return fmt.Errorf("want PLATFORM=FILE, such as linux/amd64=bin/flyte-binary-slim, got %q", text)
		}
		into[platform] = file
		return nil
	}
}
