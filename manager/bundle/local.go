package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/flyte-binary/flyte-binary/manager"
	"github.com/flyte-binary/flyte-binary/manager/configuration"
)

// local are the parts that need the configuration and this machine.
func local(options Options) []part {
	parts := []part{
		{"version.txt", func(_ context.Context, w io.Writer) error {
			_, err := fmt.Fprintf(w, "flyte-binary %s\n%s %s/%s\ncollected %s\n", options.Version, runtime.Version(), runtime.GOOS,
				runtime.GOARCH, options.Clock.Now().UTC().Format(time.RFC3339))
			return err
		}},
		{"config.yaml", func(_ context.Context, w io.Writer) error {
			text, err := yaml.Marshal(configuration.Redacted(options.Config))
			if err != nil {
				return err
			}
			_, err = w.Write(text)
			return errors.Join(err, options.Config.Validate())
		}},
		{"environment.txt", func(_ context.Context, w io.Writer) error { return environment(w) }},
		{"doctor.txt", func(ctx context.Context, w io.Writer) error { return examine(ctx, options.Config, w) }},
	}
	for _, path := range options.Logs {
		parts = append(parts, part{"logs/" + filepath.Base(path), func(_ context.Context, w io.Writer) error { return tail(path, w) }})
	}
	return parts
}

// environment lists the names of the variables that configure the program; their values may be secrets.
func environment(w io.Writer) error {
	var names []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		for _, prefix := range []string{configuration.EnvPrefix + "_", "OTEL_", "AWS_", "PG", "KUBE"} {
			if strings.HasPrefix(name, prefix) {
				names = append(names, name+" is set")
				break
			}
		}
	}
	slices.Sort(names)
	_, err := io.WriteString(w, strings.Join(append(names, ""), "\n"))
	return err
}

func examine(ctx context.Context, config configuration.Config, w io.Writer) error {
	problems := 0
	for _, f := range manager.Examine(ctx, config, nil) {
		line := fmt.Sprintf("ok    %s: %s\n", f.What, f.Detail)
		if f.Err != nil {
			problems++
			line = fmt.Sprintf("FAIL  %s: %v\n      fix: %s\n", f.What, f.Err, f.Fix)
		}
		if _, err := io.WriteString(w, line); err != nil {
			return err
		}
	}
	if problems > 0 {
		return fmt.Errorf("%d problems found; see doctor.txt", problems)
	}
	return nil
}

// tailBytes is how much of the end of a log is collected.
const tailBytes = 4 << 20

func tail(path string, w io.Writer) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if skipped := info.Size() - tailBytes; skipped > 0 {
		if _, err := file.Seek(skipped, io.SeekStart); err != nil {
			return err
		}
	}
	_, err = io.Copy(w, io.LimitReader(file, tailBytes))
	return err
}
