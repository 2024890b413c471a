package postgres_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/demo/postgres"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgembed"
)

// installed makes a directory with server programs that say that they are of the version.
func installed(t *testing.T, version string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "bin")
	require.NoError(t, os.Mkdir(dir, 0o755))
	for _, name := range []string{"initdb", "postgres"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho 'postgres (PostgreSQL) "+version+" (Debian)'\n"), 0o755))
	}
	return dir
}

// data makes the directory of a database that the major version wrote.
func data(t *testing.T, major string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "data"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data", "PG_VERSION"), []byte(major+"\n"), 0o644))
	return dir
}

func choose(t *testing.T, wanted, dataDir string) (postgres.Programs, error) {
	t.Helper()
	return postgres.Choose(t.Context(), postgres.Choice{Wanted: wanted, DataDir: dataDir, Home: t.TempDir()})
}

func TestGivenProgramsAreUsed(t *testing.T) {
	t.Setenv(pgembed.BinDirEnv, "")
	dir := installed(t, "17.2")
	chosen, err := choose(t, dir, t.TempDir())
	require.NoError(t, err)
	require.Equal(t, postgres.Programs{BinDir: dir, Origin: dir}, chosen)

	_, err = choose(t, t.TempDir(), t.TempDir())
	require.ErrorContains(t, err, "has no initdb and postgres")

	t.Setenv(pgembed.BinDirEnv, dir)
	chosen, err = choose(t, "", data(t, "17"))
	require.NoError(t, err)
	require.Equal(t, dir, chosen.BinDir)
	_, err = choose(t, "", data(t, "9"))
	require.ErrorContains(t, err, "written by Postgres 9")
	require.ErrorContains(t, err, dir)
}

// TestTheBundle has both cases: a program that was built with the bundle, and one that was not.
func TestTheBundle(t *testing.T) {
	t.Setenv(pgembed.BinDirEnv, "")
	_, bundled := postgres.Archive()
	chosen, err := choose(t, postgres.Bundled, t.TempDir())
	if !bundled {
		require.ErrorContains(t, err, "built without Postgres")
		return
	}
	require.NoError(t, err)
	version, err := pgembed.ProgramVersion(t.Context(), chosen.BinDir)
	require.NoError(t, err)
	require.Equal(t, "its own "+version, chosen.Origin)

	// Data of this version opens with the bundle, whatever this machine has that comes first.
	t.Setenv("PATH", installed(t, "14.1"))
	major, err := pgembed.Major(version)
	require.NoError(t, err)
	chosen, err = choose(t, "", data(t, version[:2]))
	require.NoError(t, err)
	found, err := pgembed.ProgramVersion(t.Context(), chosen.BinDir)
	require.NoError(t, err)
	foundMajor, err := pgembed.Major(found)
	require.NoError(t, err)
	require.Equal(t, major, foundMajor)
}

func TestDataOfTheMachinesVersion(t *testing.T) {
	t.Setenv(pgembed.BinDirEnv, "")
	dir := installed(t, "14.1")
	t.Setenv("PATH", dir)
	chosen, err := choose(t, "", data(t, "14"))
	require.NoError(t, err)
	require.NotEmpty(t, chosen.BinDir)
	t.Setenv(pgembed.BinDirEnv, installed(t, "17.2"))
	again, err := choose(t, "", data(t, "14"))
	require.NoError(t, err)
	require.Equal(t, chosen, again, "what people prefer does not fit the data")
	_, err = choose(t, "", data(t, "9"))
	require.ErrorContains(t, err, "written by Postgres 9")
	require.ErrorContains(t, err, "--data-dir")
}
