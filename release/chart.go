package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// chartFile is the file of a chart that has its version.
const chartFile = "Chart.yaml"

// packChart writes a chart as helm package does, with the version of the release, but with the same bytes each time.
func packChart(o options, dir string) error {
	name, version := filepath.Base(dir), chartVersion(o.version)
	a := newArchive(name, o.made)
	found := false
	files := os.DirFS(dir)
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error { // in the order of names
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		if path == chartFile {
			found = true
			if content, err = atVersion(content, version, strings.TrimPrefix(o.version, "v")); err != nil {
				return err
			}
		}
		a.add(path, 0o644, content)
		return nil
	})
	packed, failed := a.bytes()
	if err := errors.Join(err, failed); err != nil {
		return fmt.Errorf("pack the chart %s: %w", dir, err)
	}
	if !found {
		return fmt.Errorf("pack the chart %s: it has no %s", dir, chartFile)
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil { //nolint:gosec // build output
		return err
	}
	return o.write(name+"-"+version+".tgz", packed)
}

// atVersion sets the version of a chart and that of its program.
func atVersion(chart []byte, version, program string) ([]byte, error) {
	for key, value := range map[string]string{"version": version, "appVersion": program} {
		line := regexp.MustCompile(`(?m)^` + key + `: .*$`)
		if len(line.FindAll(chart, -1)) != 1 {
			return nil, fmt.Errorf("%s must have one line %s: …", chartFile, key)
		}
		chart = line.ReplaceAllLiteral(chart, []byte(key+": "+strconv.Quote(value)))
	}
	return chart, nil
}
