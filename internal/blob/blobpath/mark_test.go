package blobpath_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
)

func TestDirectoriesOfRunsHaveMarks(t *testing.T) {
	dir := blobpath.RunDir("nightly", []byte("request"))
	require.Regexp(t, `^nightly\.[a-z2-7]{16}$`, dir)
	require.Equal(t, dir, blobpath.RunDir("nightly", []byte("request")), "a repeated request has the same directory")
	require.NotEqual(t, dir, blobpath.RunDir("nightly", []byte("another")))
	require.NotEqual(t, dir[len("nightly"):], blobpath.RunDir("daily", []byte("request"))[len("daily"):])

	require.True(t, blobpath.IsRunDir(dir, "nightly"))
	for _, name := range []string{"", "nightly", "nightly.", dir + "a", dir[:len(dir)-1], "night.ly", "nightly.AAAAAAAAAAAAAAAA", "nightly.aaaaaaaaaaaaaaa1"} {
		require.False(t, blobpath.IsRunDir(name, "nightly"), name)
	}
	require.False(t, blobpath.IsRunDir(dir, "night"))
}

func TestWithin(t *testing.T) {
	for uri, want := range map[string]bool{
		"/data/r/a/1/outputs.pb": true, "/data/r/a/1": true, "/data/r/a/1/": true,
		"/data/r/": false, "/data/r": false, "/data/r2/a": false, "/data/r/../q/a": false, "/data/r/./a": false, "/data/r//a": false, "": false,
	} {
		require.Equal(t, want, blobpath.Within("/data/r/", uri), uri)
	}
}
