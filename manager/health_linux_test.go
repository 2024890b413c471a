package manager_test

import (
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A full disk accepts no writes, and health checks report it until there is room again.
func TestAFullDiskIsSeen(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("a small disk cannot be mounted here: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	config := apiConfig(t)
	config.Storage.URL = filepath.Join(dir, "store")
	config.Health.WriteProbe, config.Health.MinFreeBytes = time.Millisecond, 64<<10
	url := startServer(t, config, nil)
	require.Equal(t, http.StatusOK, awaitLine(t, url, "storage writes: ok"))
	awaitLine(t, url, "disk: ok")

	ballast := filepath.Join(dir, "ballast")
	require.ErrorIs(t, fill(ballast), syscall.ENOSPC)
	require.Equal(t, http.StatusOK, awaitLine(t, url, "storage writes: degraded: write "), "reads still work")
	awaitLine(t, url, "disk: degraded: 0 MiB are free")
	code, _, _ := do(t, http.MethodGet, url+"/healthz", nil, nil)
	require.Equal(t, http.StatusOK, code, "a restart would not help")

	require.NoError(t, os.Remove(ballast))
	awaitLine(t, url, "storage writes: ok")
	awaitLine(t, url, "disk: ok")
}

// fill writes until there is no space.
func fill(path string) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	for {
		if _, err := file.Write(make([]byte, 4096)); err != nil {
			return err
		}
	}
}
