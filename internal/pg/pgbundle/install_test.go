package pgbundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgbundle"
)

// archive has one program, with the content.
func archive(t *testing.T, name, content string) []byte {
	t.Helper()
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	files := tar.NewWriter(zipped)
	require.NoError(t, files.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content)), Typeflag: tar.TypeReg}))
	_, err := files.Write([]byte(content))
	require.NoError(t, err)
	require.NoError(t, files.Close())
	require.NoError(t, zipped.Close())
	return packed.Bytes()
}

func TestManyProcessesUnpackOnce(t *testing.T) {
	base := filepath.Join(t.TempDir(), "made")
	content := archive(t, "bin/postgres", "#!/bin/sh\n")
	var group sync.WaitGroup
	dirs := make([]string, 8)
	for i := range dirs {
		group.Go(func() {
			dir, err := pgbundle.Install(content, "1.2", base)
			if err == nil {
				dirs[i] = dir
			}
		})
	}
	group.Wait()
	for _, dir := range dirs {
		require.Equal(t, dirs[0], dir)
	}
	info, err := os.Stat(filepath.Join(dirs[0], "bin", "postgres"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), info.Mode().Perm())

	other, err := pgbundle.Install(archive(t, "bin/postgres", "another build"), "1.2", base)
	require.NoError(t, err)
	require.NotEqual(t, dirs[0], other, "other contents are another directory")
	left, err := filepath.Glob(filepath.Join(base, "*.unpacking"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestABrokenArchiveLeavesNothing(t *testing.T) {
	base := t.TempDir()
	content := archive(t, "bin/postgres", "#!/bin/sh\n")
	content[len(content)-8] ^= 1 // the checksum
	_, err := pgbundle.Install(content, "1.2", base)
	require.ErrorContains(t, err, "unpack Postgres")
	_, err = pgbundle.Install(archive(t, "../escape", ""), "1.2", base)
	require.ErrorContains(t, err, `unexpected entry "../escape"`)
	left, err := filepath.Glob(filepath.Join(base, "postgres-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestWhatADeadProcessLeftIsReplaced(t *testing.T) {
	base := t.TempDir()
	content := archive(t, "bin/postgres", "#!/bin/sh\n")
	dir, err := pgbundle.Install(content, "1.2", base)
	require.NoError(t, err)
	require.NoError(t, os.Rename(dir, dir+".unpacking"))
	require.NoError(t, os.Remove(filepath.Join(dir+".unpacking", "bin", "postgres")))
	again, err := pgbundle.Install(content, "1.2", base)
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(again, "bin", "postgres"))
}
