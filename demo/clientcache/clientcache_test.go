package clientcache_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/demo/clientcache"
)

// fill makes a cache with the tables of the SDK 2.12.
const fill = `
import sqlite3, sys
cache, there, gone = sys.argv[1:]
with sqlite3.connect(cache) as c:
    c.execute("CREATE TABLE bundle_cache (digest TEXT PRIMARY KEY, hash_digest TEXT, remote_path TEXT, created_at REAL)")
    c.execute("CREATE TABLE image_cache (key TEXT PRIMARY KEY, image_uri TEXT, created_at REAL)")
    for digest, path in enumerate((there, gone, gone, "s3://bucket/uploads/code.tar.gz")):
        c.execute("INSERT INTO bundle_cache VALUES (?, '', ?, 0)", (str(digest), path))
    for key, image in enumerate(("flyte:0123456789abcdef0123456789abcdef", "registry.example/flyte:1.0")):
        c.execute("INSERT INTO image_cache VALUES (?, ?, 0)", (str(key), image))
`

const show = `
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as c:
    for query in ("SELECT remote_path FROM bundle_cache", "SELECT image_uri FROM image_cache"):
        for (value,) in c.execute(query): print(value)
`

// cacheIn returns where the SDK keeps its cache for a new home directory.
func cacheIn(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	cache := filepath.Join(home, ".flyte", "local-cache", "cache.db")
	require.NoError(t, os.MkdirAll(filepath.Dir(cache), 0o700))
	return cache
}

func python(t *testing.T, arguments ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "python3", arguments...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

func TestWhatIsGoneIsForgotten(t *testing.T) {
	cache := cacheIn(t)
	there := filepath.Join(t.TempDir(), "code.tar.gz")
	require.NoError(t, os.WriteFile(there, nil, 0o600))
	python(t, "-c", fill, cache, there, there+"-gone")

	count, err := clientcache.Forget(t.Context(), "python3")
	require.NoError(t, err)
	require.Equal(t, 3, count)
	require.Equal(t, there+"\ns3://bucket/uploads/code.tar.gz\nregistry.example/flyte:1.0\n", python(t, "-c", show, cache))

	count, err = clientcache.Forget(t.Context(), "python3")
	require.NoError(t, err)
	require.Zero(t, count)
}

func TestNoCacheIsNoError(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	count, err := clientcache.Forget(t.Context(), "/no/python")
	require.NoError(t, err)
	require.Zero(t, count)
}

func TestCacheOfAnotherVersionStaysAsItIs(t *testing.T) {
	cache := cacheIn(t)
	require.NoError(t, os.WriteFile(cache, nil, 0o600))
	count, err := clientcache.Forget(t.Context(), "python3")
	require.NoError(t, err)
	require.Zero(t, count)

	require.NoError(t, os.WriteFile(cache, []byte("not a SQLite database, and longer than the header of one, so that SQLite reads it and says so ......................"), 0o600))
	_, err = clientcache.Forget(t.Context(), "python3")
	require.ErrorContains(t, err, cache)
	require.ErrorContains(t, err, "not a database")
}
