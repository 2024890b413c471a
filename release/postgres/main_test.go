package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// On a fresh machine nothing has made the directory of the link yet.
func TestTheLinkNeedsNoDirectory(t *testing.T) {
	dir := t.TempDir()
	archive, link := filepath.Join(dir, "postgres.tar.gz"), filepath.Join(dir, ".cache", "postgres")
	require.NoError(t, os.WriteFile(archive, bundleOf(t, programs+"/bin/postgres"), 0o600))
	for range 2 { // the second time replaces the link
		require.NoError(t, run("", archive, "18", filepath.Join(dir, "base"), link))
		require.FileExists(t, filepath.Join(link, "bin", "postgres"))
	}
}

func bundleOf(t *testing.T, name string) []byte {
	t.Helper()
	var content bytes.Buffer
	packed := gzip.NewWriter(&content)
	files := tar.NewWriter(packed)
	require.NoError(t, files.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755}))
	require.NoError(t, files.Close())
	require.NoError(t, packed.Close())
	return content.Bytes()
}
