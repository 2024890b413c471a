// Package demotest runs the built demo program for tests. They start it as a child instead of linking the API server
// into each test binary.
package demotest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Program is the path of the built demo program: FLYTE_BINARY_DEMO, or bin/flyte-binary of the repository.
func Program(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("FLYTE_BINARY_DEMO"); path != "" {
		require.FileExists(t, path, "FLYTE_BINARY_DEMO")
		return path
	}
	dir, err := os.Getwd()
	require.NoError(t, err)
	for dir != filepath.Dir(dir) {
		if path := filepath.Join(dir, "bin", "flyte-binary"); exists(path) {
			return path
		}
		dir = filepath.Dir(dir)
	}
	t.Skip("no demo program: run `make build` first")
	return ""
}

func exists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}
