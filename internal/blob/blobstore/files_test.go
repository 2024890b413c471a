package blobstore_test

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func openFiles(t *testing.T, change ...func(*blobstore.Config)) *blobstore.Store {
	t.Helper()
	config := blobstore.DefaultConfig()
	config.URL, config.PublicURL = filepath.Join(t.TempDir(), "store"), "http://blobs.test"
	for _, c := range change {
		c(&config)
	}
	return open(t, config)
}

func open(t *testing.T, config blobstore.Config, options ...blobstore.Option) *blobstore.Store {
	t.Helper()
	store, err := blobstore.Open(t.Context(), config, options...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func TestFiles(t *testing.T) {
	exercise(t, openFiles(t))
}

func TestFilesAreWhatTasksExpect(t *testing.T) {
	store := openFiles(t)
	require.True(t, filepath.IsAbs(store.Root()))
	require.NoError(t, store.WriteAll(t.Context(), store.Root()+"/p/d/r/a0/1/x.attrs", []byte("plain")))
	entries, err := os.ReadDir(store.Root() + "/p/d/r/a0/1")
	require.NoError(t, err)
	require.Len(t, entries, 1, "no files beside the object")
	body, err := os.ReadFile(store.Root() + "/p/d/r/a0/1/x.attrs")
	require.NoError(t, err)
	require.Equal(t, "plain", string(body))
	// What a task wrote can be read without registration, and file:// means the same.
	require.NoError(t, os.WriteFile(store.Root()+"/p/out", []byte("by a task"), 0o600))
	body, err = store.ReadAll(t.Context(), "file://"+store.Root()+"/p/out", 100)
	require.NoError(t, err)
	require.Equal(t, "by a task", string(body))
}

func TestFilesRefuseWhatLeadsOut(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o600))
	store := openFiles(t)
	require.NoError(t, os.Symlink(outside, store.Root()+"/link"))
	require.NoError(t, os.Symlink(filepath.Dir(outside), store.Root()+"/linkdir"))
	for _, uri := range []string{
		outside,
		store.Root(),
		store.Root() + "/",
		store.Root() + "x/y",
		store.Root() + "/../" + filepath.Base(outside),
		store.Root() + "/a/../../b",
		store.Root() + "/a/./b",
		store.Root() + "/a//b",
		store.Root() + "/a\x00b",
		store.Root() + "/a\\..\\b",
		store.Root() + "/link",
		store.Root() + "/linkdir/secret",
		store.Root() + "/linkdir/new",
		store.Root() + "/.flyte-tmp/x",
		"s3://bucket/key",
		"",
	} {
		_, err := store.ReadAll(t.Context(), uri, 0)
		if uri != store.Root()+"/linkdir/new" {
			require.ErrorIs(t, err, blobstore.ErrForbiddenPath, "read %q", uri)
		}
		if uri != store.Root()+"/link" { // replacing the link itself harms no one
			require.ErrorIs(t, store.WriteAll(t.Context(), uri, nil), blobstore.ErrForbiddenPath, "write %q", uri)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(outside))
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

// Anything but a regular file is not an object, and is found out without waiting: opening a named pipe has no end.
func TestSpecialFilesAreNoObjects(t *testing.T) {
	store := openFiles(t)
	require.NoError(t, syscall.Mkfifo(store.Root()+"/pipe", 0o644))
	require.NoError(t, os.Symlink("pipe", store.Root()+"/link"))
	require.NoError(t, os.Symlink("loop", store.Root()+"/loop"))
	require.NoError(t, os.Symlink("nothing", store.Root()+"/dangling"))
	require.NoError(t, os.Mkdir(store.Root()+"/dir", 0o755))
	socket, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", store.Root()+"/socket")
	require.NoError(t, err)
	defer socket.Close()
	for _, name := range []string{"pipe", "link", "loop", "dangling", "dir", "socket"} {
		uri := store.Root() + "/" + name
		_, err := store.ReadAll(t.Context(), uri, 0)
		require.ErrorIs(t, err, blobstore.ErrNotExist, name)
		_, err = store.Stat(t.Context(), uri)
		require.ErrorIs(t, err, blobstore.ErrNotExist, name)
	}
	require.NoError(t, store.DeletePrefix(t.Context(), store.Root()+"/dir/"))
	require.Error(t, store.DeletePrefix(t.Context(), store.Root()+"/pipe/"), "it is not a directory")
}

func TestFileAppearsWholeOrNotAtAll(t *testing.T) {
	store := openFiles(t)
	uri := store.Root() + "/deep/er/file"
	ctx, cancel := context.WithCancel(t.Context())
	w, err := store.NewWriter(ctx, uri)
	require.NoError(t, err)
	_, err = io.WriteString(w, "half")
	require.NoError(t, err)
	_, err = store.Stat(t.Context(), uri)
	require.ErrorIs(t, err, blobstore.ErrNotExist)
	cancel()
	require.ErrorIs(t, w.Close(), context.Canceled)
	_, err = store.Stat(t.Context(), uri)
	require.ErrorIs(t, err, blobstore.ErrNotExist)
	requireNothingLeft(t, store)
}

func requireNothingLeft(t *testing.T, store *blobstore.Store) {
	t.Helper()
	entries, err := os.ReadDir(store.Root() + "/.flyte-tmp")
	require.NoError(t, err)
	require.Empty(t, entries)
}

func TestExtraPrefixes(t *testing.T) {
	extra := filepath.Join(t.TempDir(), "extra")
	store := openFiles(t, func(c *blobstore.Config) { c.ExtraPrefixes = []string{"file://" + extra} })
	require.NoError(t, store.WriteAll(t.Context(), extra+"/x", []byte("1")))
	body, err := store.ReadAll(t.Context(), extra+"/x", 1)
	require.NoError(t, err)
	require.Equal(t, "1", string(body))
}

func TestConfigNamesTheField(t *testing.T) {
	for field, change := range map[string]func(*blobstore.Config){
		"url: required":      func(c *blobstore.Config) { c.URL = "" },
		"url: scheme":        func(c *blobstore.Config) { c.URL = "ftp://x/y" },
		"url: a directory":   func(c *blobstore.Config) { c.URL = "file:///" },
		"url: has no bucket": func(c *blobstore.Config) { c.URL = "s3:///x" },
		"url: must look":     func(c *blobstore.Config) { c.URL = "abfs://x/y" },
		"extraPrefixes[0]":   func(c *blobstore.Config) { c.ExtraPrefixes = []string{"x"} },
		"s3.secretAccessKey": func(c *blobstore.Config) { c.S3.AccessKeyID = "x" },
		"publicURL":          func(c *blobstore.Config) { c.PublicURL = "localhost:1" },
		"maxUploadBytes":     func(c *blobstore.Config) { c.MaxUploadBytes = -1 },
		"timeout":            func(c *blobstore.Config) { c.Timeout = 0 },
	} {
		config := blobstore.DefaultConfig()
		config.URL = "/tmp/x"
		require.NoError(t, config.Validate())
		change(&config)
		require.ErrorContains(t, config.Validate(), field)
	}
}

// TestManyDeleteOnePrefix: replicas may delete the same at the same time.
func TestManyDeleteOnePrefix(t *testing.T) {
	store := openFiles(t)
	for range 50 {
		prefix := store.Root() + "/p/d/gone/"
		for i := range 5 {
			require.NoError(t, store.WriteAll(t.Context(), prefix+strconv.Itoa(i), nil))
		}
		var deleting errgroup.Group
		for range 4 {
			deleting.Go(func() error { return store.DeletePrefix(t.Context(), prefix) })
		}
		require.NoError(t, deleting.Wait())
	}
}

func TestDeletePrefixFollowsNoLink(t *testing.T) {
	store := openFiles(t)
	dir := store.Root()
	require.NoError(t, store.WriteAll(t.Context(), dir+"/p/d/kept/outputs.pb", []byte("x")))
	require.NoError(t, os.MkdirAll(dir+"/p/d/gone/a0", 0o755))
	require.NoError(t, os.Symlink("../../kept", dir+"/p/d/gone/a0/inside"))
	require.NoError(t, os.Symlink("../kept", dir+"/p/d/gone/link"))
	require.NoError(t, os.Symlink("kept", dir+"/p/d/linked"))
	require.NoError(t, store.DeletePrefix(t.Context(), dir+"/p/d/gone/"))
	require.NoFileExists(t, dir+"/p/d/gone")
	require.ErrorIs(t, store.DeletePrefix(t.Context(), dir+"/p/d/linked/"), blobstore.ErrForbiddenPath)
	require.ErrorIs(t, store.DeletePrefix(t.Context(), dir+"/p/d/kept/outputs.pb/"), blobstore.ErrForbiddenPath)
	require.FileExists(t, dir+"/p/d/kept/outputs.pb")
}

func TestCanonical(t *testing.T) {
	root := t.TempDir()
	store := openFiles(t, func(c *blobstore.Config) { c.URL = root })
	for uri, want := range map[string]string{
		root + "/p/d/run/inputs.pb":             root + "/p/d/run/inputs.pb",
		root + "/p/d/run/":                      root + "/p/d/run/", // a directory
		"file://" + root + "/p/d/run/inputs.pb": root + "/p/d/run/inputs.pb",
		root:                                    "",
		root + "/":                              "",
		root + "/../elsewhere":                  "",
		root + "/p//d":                          "",
		root + "/.flyte-tmp/x":                  "",
		root + "/.flyte-claims/x":               "",
		root + "elsewhere/p":                    "",
		"/etc/passwd":                           "",
		"s3://bucket/p":                         "",
	} {
		got, err := store.Canonical(uri)
		require.Equal(t, want, got, uri)
		if want == "" {
			require.ErrorIs(t, err, blobstore.ErrForbiddenPath, uri)
		} else {
			require.NoError(t, err, uri)
		}
	}
}
