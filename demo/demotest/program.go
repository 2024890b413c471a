// Package demotest gives the tests of the demo the built program. They start it as a child instead of linking the API server
// into each test binary.
package demotest

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// Program is the path of the built demo program: FLYTE_BINARY_DEMO, or bin/flyte-binary in the repository.
func Program(t testing.TB) string {
	t.Helper()
	path := os.Getenv("FLYTE_BINARY_DEMO")
	if path == "" {
		path = filepath.Join("..", "..", "bin", "flyte-binary")
		if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
			path = filepath.Join(filepath.Dir(file), "..", "..", "bin", "flyte-binary")
		}
	}
	path, err := filepath.Abs(path)
	require.NoError(t, err)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no demo program at %s: run `make build` first", path)
	}
	return path
}
