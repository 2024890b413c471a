package blobstore_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
)

// FuzzURI writes to arbitrary URIs: an accepted write lands below the root and can be read under the same URI; nothing
// outside the root ever changes.
func FuzzURI(f *testing.F) {
	for _, tail := range []string{
		"/a/b", "/../secret", "/a/../../secret", "//secret", "/a//b", "/./a", "/a/%2e%2e/b", "/a\x00b", "/a\\..\\b", "", "/",
		"/.tmp/x", "/é/ü", "/a/" + strings.Repeat("x", 300), "/link/secret",
	} {
		f.Add(tail)
	}
	parent := f.TempDir()
	secret := filepath.Join(parent, "secret")
	require.NoError(f, os.WriteFile(secret, []byte("untouched"), 0o600))
	root := filepath.Join(parent, "store")
	require.NoError(f, os.Mkdir(root, 0o700))
	require.NoError(f, os.Symlink(parent, filepath.Join(root, "link")))
	config := blobstore.DefaultConfig()
	config.URL, config.PublicURL, config.Sync = root, "http://blobs.test", false
	store, err := blobstore.Open(f.Context(), config)
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, store.Close()) })
	f.Fuzz(func(t *testing.T, tail string) {
		uri := store.Root() + tail
		err := store.WriteAll(t.Context(), uri, []byte("mine"))
		body, readErr := os.ReadFile(secret)
		require.NoError(t, readErr)
		require.Equal(t, "untouched", string(body))
		outside, readErr := os.ReadDir(parent)
		require.NoError(t, readErr)
		require.Len(t, outside, 2, "nothing new beside the root")
		if err != nil {
			directory := errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.EISDIR) // made for an earlier URI
			require.True(t, errors.Is(err, blobstore.ErrForbiddenPath) || errors.Is(err, blobstore.ErrNotExist) || directory, "%v", err)
			return
		}
		body, err = store.ReadAll(t.Context(), uri, 10)
		require.NoError(t, err)
		require.Equal(t, "mine", string(body))
		require.NoError(t, store.Delete(t.Context(), uri))
	})
}
