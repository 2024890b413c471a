package worker

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/flyte-binary/flyte-binary/inpod/forkable"
)

//go:embed python/*.py
var programs embed.FS

// writePrograms writes the Python programs into a directory, and returns the path of the first to run.
func writePrograms(dir string) (string, error) {
	entries, err := programs.ReadDir("python")
	if err != nil {
		return "", fmt.Errorf("read the programs: %w", err)
	}
	files := map[string][]byte{forkable.Name: forkable.Program}
	for _, entry := range entries {
		if files[entry.Name()], err = programs.ReadFile("python/" + entry.Name()); err != nil {
			return "", fmt.Errorf("read the programs: %w", err)
		}
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return "", fmt.Errorf("write the programs: %w", err)
		}
	}
	return filepath.Join(dir, "runner.py"), nil
}
