package console

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func serve(t *testing.T, files fstest.MapFS, config Config, target string, headers ...string) *http.Response {
	t.Helper()
	h, err := newHandler(files, config)
	require.NoError(t, err)
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, request)
	return recorder.Result()
}

func text(t *testing.T, r io.Reader) string {
	t.Helper()
	body, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(body)
}

var built = fstest.MapFS{
	".keep":           {Data: []byte{}},
	"index.html":      {Data: []byte("<!doctype html>" + strings.Repeat("the page ", 50))},
	"assets/a-123.js": {Data: []byte(strings.Repeat("console.log(1);", 100))},
	"icon.svg":        {Data: []byte("<svg/>")},
}

func TestEveryAddressOfAPageGetsTheDocument(t *testing.T) {
	for _, target := range []string{"/v2/", "/v2/projects", "/v2/domain/development/project/p/runs/r", "/v2/domain/d/project/p/tasks/a.b/v1.2"} {
		response := serve(t, built, Config{}, target)
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.Equal(t, "text/html; charset=utf-8", response.Header.Get("Content-Type"))
		require.Equal(t, "no-cache", response.Header.Get("Cache-Control"))
		require.Contains(t, text(t, response.Body), "the page")
	}
}

func TestAssetsAreKeptForEver(t *testing.T) {
	response := serve(t, built, Config{}, "/v2/assets/a-123.js")
	require.Contains(t, response.Header.Get("Cache-Control"), "immutable")
	require.Contains(t, response.Header.Get("Content-Type"), "javascript")
	require.Equal(t, http.StatusNotFound, serve(t, built, Config{}, "/v2/assets/a-122.js").StatusCode, "not the document in place of a script")
	require.Equal(t, "image/svg+xml", serve(t, built, Config{}, "/v2/icon.svg").Header.Get("Content-Type"))
}

func TestFilesAreSentCompressedAndOnce(t *testing.T) {
	response := serve(t, built, Config{}, "/v2/assets/a-123.js", "Accept-Encoding", "br, gzip")
	require.Equal(t, "gzip", response.Header.Get("Content-Encoding"))
	unzipped, err := gzip.NewReader(response.Body)
	require.NoError(t, err)
	require.Contains(t, text(t, unzipped), "console.log(1);")
	require.Empty(t, serve(t, built, Config{}, "/v2/assets/a-123.js", "Accept-Encoding", "gzip;q=0").Header.Get("Content-Encoding"))
	again := serve(t, built, Config{}, "/v2/", "Accept-Encoding", "gzip", "If-None-Match",
		serve(t, built, Config{}, "/v2/", "Accept-Encoding", "gzip").Header.Get("ETag"))
	require.Equal(t, http.StatusNotModified, again.StatusCode)
}

func TestThePolicyAllowsNoForeignScripts(t *testing.T) {
	policy := serve(t, built, Config{}, "/v2/").Header.Get("Content-Security-Policy")
	require.Contains(t, policy, "default-src 'none'")
	require.Contains(t, policy, "script-src 'self';")
	require.Contains(t, policy, "frame-ancestors 'none'")
	require.NotContains(t, policy, "unsafe-eval")
	withStore := serve(t, built, Config{StoreOrigins: []string{"https://s3.example.com"}}, "/v2/").Header.Get("Content-Security-Policy")
	require.Contains(t, withStore, "connect-src 'self' https://s3.example.com;")
	require.Contains(t, withStore, "script-src 'self';")
}

func TestABinaryWithoutTheConsoleSaysSo(t *testing.T) {
	response := serve(t, fstest.MapFS{".keep": {Data: []byte{}}}, Config{}, "/v2/")
	require.Contains(t, text(t, response.Body), "built without its console")
}

// TestFirstLoadStaysInBudget bounds what a browser fetches before it draws anything. It needs a built console.
func TestFirstLoadStaysInBudget(t *testing.T) {
	h, err := New(Config{})
	require.NoError(t, err)
	var page strings.Builder
	_, err = h.assets[document].copyTo(&page)
	require.NoError(t, err)
	if strings.Contains(page.String(), "built without") {
		t.Skip("the console is not built; make console builds it")
	}
	total := 0
	for name, a := range h.assets {
		if name == document || strings.Contains(page.String(), name) {
			zipped, err := a.zipped()
			require.NoError(t, err)
			total += max(len(zipped), 1)
		}
	}
	t.Logf("%d bytes", total)
	require.Less(t, total, 400_000)
	require.NotContains(t, page.String(), "<script>")
}

func TestReportsAreShownInAPageOfNoOrigin(t *testing.T) {
	files := fstest.MapFS{"index.html": built["index.html"], frame: {Data: []byte("<!doctype html>")}}
	policy := serve(t, files, Config{}, "/v2/"+frame).Header.Get("Content-Security-Policy")
	sandbox, _, _ := strings.Cut(policy, ";")
	require.Equal(t, "sandbox allow-scripts allow-popups", sandbox, "no allow-same-origin")
	require.Contains(t, policy, "frame-ancestors 'self'")
	require.Contains(t, policy, "form-action 'none'")
	require.NotContains(t, serve(t, files, Config{}, "/v2/").Header.Get("Content-Security-Policy"), "unsafe-eval")
}

func TestStoresThatLinksLeadTo(t *testing.T) {
	policy := serve(t, built, Config{StoreOrigins: []string{"https://bucket.example.com", "http://minio:9000", "http://[::1]:9000", "https://x; script-src *"}}, "/v2/").
		Header.Get("Content-Security-Policy")
	for _, directive := range []string{"connect-src", "frame-src", "media-src", "img-src"} {
		_, rest, ok := strings.Cut(policy, directive+" ")
		require.True(t, ok)
		sources, _, _ := strings.Cut(rest, ";")
		require.Contains(t, sources, " https://bucket.example.com http://minio:9000", directive)
	}
	require.NotContains(t, policy, "::1")
	require.NotContains(t, policy, "script-src *")
	require.NotContains(t, policy, "script-src 'self' https:")
}
