// Command dashboards writes the Grafana dashboards of the chart, one JSON file each, into the directory that it is given. The
// panels are tables in this package; the files are generated, so that their ids and places are right and a change reads well.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: dashboards DIRECTORY")
	}
	for _, one := range []dashboard{overview(), work(), cluster(), database(), calls(), services(), clusters()} {
		body, err := json.MarshalIndent(one.model(), "", "  ")
		if err != nil {
			return fmt.Errorf("%s: %w", one.id, err)
		}
		path := filepath.Join(args[0], one.id+".json")
		if err := os.WriteFile(path, append(body, '\n'), 0o644); err != nil { //nolint:gosec // part of the source
			return fmt.Errorf("write dashboard: %w", err)
		}
	}
	return nil
}
