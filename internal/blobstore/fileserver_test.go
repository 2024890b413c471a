package blobstore_test

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/clock"
)

// served is a directory store behind a real HTTP server.
type served struct {
	*blobstore.Store
	t     *testing.T
	clock *clock.Fake
}

func serve(t *testing.T) served {
	t.Helper()
	var store *blobstore.Store
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		store.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	fake := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	config := blobstore.DefaultConfig()
	config.URL, config.PublicURL, config.SigningKey = t.TempDir()+"/store", server.URL, "key"
	store = open(t, config, blobstore.WithClock(fake))
	return served{store, t, fake}
}

func (s served) put(signed blobstore.Signed, body string, change ...func(*http.Request)) int {
	s.t.Helper()
	status, _ := s.do(http.MethodPut, signed, body, change...)
	return status
}

func (s served) do(method string, signed blobstore.Signed, body string, change ...func(*http.Request)) (int, *http.Response) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, signed.URL, strings.NewReader(body))
	require.NoError(s.t, err)
	for name, value := range signed.Headers {
		request.Header.Set(name, value)
	}
	for _, c := range change {
		c(request)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(s.t, err)
	content, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	require.NoError(s.t, response.Body.Close())
	response.Body = io.NopCloser(bytes.NewReader(content))
	return response.StatusCode, response
}

func digest(body string) []byte {
	sum := md5.Sum([]byte(body))
	return sum[:]
}

func TestSignedPut(t *testing.T) {
	s := serve(t)
	uri := s.Root() + "/uploads/p/d/x/fast 1%.tar.gz"
	sign := func(o blobstore.PutOptions) blobstore.Signed {
		o.Expires = time.Minute
		signed, err := s.SignPut(t.Context(), uri, o)
		require.NoError(t, err)
		return signed
	}
	nothing := func() {
		t.Helper()
		_, err := s.Stat(t.Context(), uri)
		require.ErrorIs(t, err, blobstore.ErrNotExist)
		requireNothingLeft(t, s.Store)
	}

	signed := sign(blobstore.PutOptions{ContentMD5: digest("good"), MaxBytes: 10})
	require.Equal(t, base64.StdEncoding.EncodeToString(digest("good")), signed.Headers["Content-MD5"])

	t.Run("wrong content leaves nothing", func(t *testing.T) {
		require.Equal(t, http.StatusBadRequest, s.put(signed, "evil"))
		nothing()
	})
	t.Run("another digest than signed", func(t *testing.T) {
		require.Equal(t, http.StatusBadRequest, s.put(signed, "evil", func(r *http.Request) {
			r.Header.Set("Content-MD5", base64.StdEncoding.EncodeToString(digest("evil")))
		}))
		require.Equal(t, http.StatusBadRequest, s.put(signed, "good", func(r *http.Request) { r.Header.Del("Content-MD5") }))
		nothing()
	})
	t.Run("tampered", func(t *testing.T) {
		for name, change := range map[string]func(*url.URL, url.Values){
			"path":      func(u *url.URL, _ url.Values) { u.Path += "x" },
			"method":    func(_ *url.URL, q url.Values) { q.Set("method", "GET") },
			"expires":   func(_ *url.URL, q url.Values) { q.Set("expires", "99999999999") },
			"md5":       func(_ *url.URL, q url.Values) { q.Del("md5") },
			"max":       func(_ *url.URL, q url.Values) { q.Set("max", "1000") },
			"no max":    func(_ *url.URL, q url.Values) { q.Del("max") },
			"signature": func(_ *url.URL, q url.Values) { q.Set("signature", "AAAA") },
			"unsigned":  func(_ *url.URL, q url.Values) { q.Del("signature") },
		} {
			u, err := url.Parse(signed.URL)
			require.NoError(t, err)
			q := u.Query()
			change(u, q)
			u.RawQuery = q.Encode()
			require.Equal(t, http.StatusForbidden, s.put(blobstore.Signed{URL: u.String(), Headers: signed.Headers}, "good"), name)
		}
		nothing()
	})
	t.Run("wrong verb", func(t *testing.T) {
		status, _ := s.do(http.MethodGet, signed, "")
		require.Equal(t, http.StatusForbidden, status)
		status, _ = s.do(http.MethodDelete, signed, "")
		require.Equal(t, http.StatusMethodNotAllowed, status)
	})
	t.Run("too large, announced or not", func(t *testing.T) {
		open := sign(blobstore.PutOptions{MaxBytes: 10})
		require.Equal(t, http.StatusRequestEntityTooLarge, s.put(open, "12345678901"))
		require.Equal(t, http.StatusRequestEntityTooLarge, s.put(open, "12345678901", func(r *http.Request) { r.ContentLength = -1 }))
		nothing()
	})
	t.Run("good", func(t *testing.T) {
		require.Equal(t, http.StatusOK, s.put(signed, "good"))
		body, err := os.ReadFile(uri)
		require.NoError(t, err)
		require.Equal(t, "good", string(body))
	})
	t.Run("expired", func(t *testing.T) {
		s.clock.Step(time.Minute)
		require.Equal(t, http.StatusForbidden, s.put(signed, "good"))
	})
}

func TestSignedGet(t *testing.T) {
	s := serve(t)
	uri := s.Root() + "/p/d/r/a0/1/report.html"
	require.NoError(t, s.WriteAll(t.Context(), uri, []byte("<p>report</p>")))
	signed, err := s.SignGet(t.Context(), uri, time.Minute)
	require.NoError(t, err)

	status, response := s.do(http.MethodGet, signed, "")
	require.Equal(t, http.StatusOK, status)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, "<p>report</p>", string(body))
	require.Contains(t, response.Header.Get("Content-Security-Policy"), "sandbox")
	require.Contains(t, response.Header.Get("Content-Type"), "text/html")

	status, response = s.do(http.MethodGet, signed, "", func(r *http.Request) { r.Header.Set("Range", "bytes=3-8") })
	require.Equal(t, http.StatusPartialContent, status)
	body, err = io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, "report", string(body))

	status, response = s.do(http.MethodHead, signed, "")
	require.Equal(t, http.StatusOK, status)
	require.EqualValues(t, 13, response.ContentLength)

	require.Equal(t, http.StatusForbidden, s.put(signed, "x"))
	missing, err := s.SignGet(t.Context(), s.Root()+"/p/none", time.Minute)
	require.NoError(t, err)
	status, _ = s.do(http.MethodGet, missing, "")
	require.Equal(t, http.StatusNotFound, status)

	s.clock.Step(time.Minute)
	status, _ = s.do(http.MethodGet, signed, "")
	require.Equal(t, http.StatusForbidden, status)
}

func TestURLOfAnotherStoreIsRefused(t *testing.T) {
	a, b := serve(t), serve(t)
	signed, err := a.SignGet(t.Context(), a.Root()+"/x", time.Minute)
	require.NoError(t, err)
	u, err := url.Parse(signed.URL)
	require.NoError(t, err)
	other := httptest.NewRequest(http.MethodGet, u.RequestURI(), nil)
	recorder := httptest.NewRecorder()
	b.Handler().ServeHTTP(recorder, other)
	require.Equal(t, http.StatusForbidden, recorder.Code)
}
