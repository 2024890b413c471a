package pyenv

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// StoreVariable tells the library in which directory the object store is; without it the library does nothing.
const StoreVariable = "FLYTE_BINARY_DEMO_STORE"

//go:embed library
var library embed.FS

// WriteLibrary writes the Python library of the demo to a directory that belongs on PYTHONPATH. The SDK loads it through
// its entry points for plugins, so that tasks treat the directory of the object store as a store on another machine. Files
// that are current stay as they are, since tasks of an earlier demo may be reading them.
func WriteLibrary(dir string) error {
	root, err := fs.Sub(library, "library")
	if err != nil {
		return err
	}
	return fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		target := filepath.Join(dir, filepath.FromSlash(path))
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if err := os.MkdirAll(target, 0o755); err != nil { //nolint:gosec // tasks may run as other users
				return fmt.Errorf("write the demo's Python library: %w", err)
			}
			return nil
		}
		content, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		if current, err := os.ReadFile(target); err == nil && bytes.Equal(current, content) {
			return nil
		}
		if err := os.WriteFile(target, content, 0o644); err != nil { //nolint:gosec // as above
			return fmt.Errorf("write the demo's Python library: %w", err)
		}
		return nil
	})
}
