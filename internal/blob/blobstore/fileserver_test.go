package blobstore_test

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
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

func TestAnUploadReplacesNothing(t *testing.T) {
	s := serve(t)
	sign := func(name, content string) blobstore.Signed {
		o := blobstore.PutOptions{Expires: time.Minute, CreateOnly: true}
		if content != "" {
			o.ContentMD5 = digest(content)
		}
		signed, err := s.SignPut(t.Context(), s.Root()+"/uploads/p/d/x/"+name, o)
		require.NoError(t, err)
		return signed
	}
	content := func(name string) string {
		body, err := s.ReadAll(t.Context(), s.Root()+"/uploads/p/d/x/"+name, 0)
		require.NoError(t, err)
		return string(body)
	}
	good, evil := sign("bundle", "good"), sign("bundle", "evil")
	require.Equal(t, http.StatusOK, s.put(good, "good"))
	require.Equal(t, http.StatusOK, s.put(good, "good"), "the answer was lost")
	require.Equal(t, http.StatusOK, s.put(sign("bundle", "good"), "good"), "the same content again")
	require.Equal(t, http.StatusPreconditionFailed, s.put(evil, "evil"))
	require.Equal(t, http.StatusPreconditionFailed, s.put(sign("bundle", ""), "evil"))
	require.Equal(t, "good", content("bundle"))

	require.Equal(t, http.StatusForbidden, s.put(blobstore.Signed{
		URL: strings.Replace(evil.URL, "create=only&", "", 1), Headers: evil.Headers,
	}, "evil"), "the condition is signed")

	require.NoError(t, os.Mkdir(s.Root()+"/uploads/p/d/x/folder", 0o755))
	require.Equal(t, http.StatusPreconditionFailed, s.put(sign("folder", ""), "evil"))
	require.NoError(t, os.Symlink("bundle", s.Root()+"/uploads/p/d/x/link"))
	require.Equal(t, http.StatusPreconditionFailed, s.put(sign("link", ""), "evil"))
	require.Equal(t, "good", content("bundle"))
	left, err := os.ReadDir(s.Root() + "/.flyte-tmp")
	require.NoError(t, err)
	require.Empty(t, left)

	answers := make(chan int)
	for _, body := range []string{"one", "two", "three", "four"} {
		signed := sign("race", "")
		go func() { answers <- s.put(signed, body) }()
	}
	created := 0
	for range 4 {
		if <-answers == http.StatusOK {
			created++
		}
	}
	require.Equal(t, 1, created, "one of those that come at once")
}

func TestSignedGet(t *testing.T) {
	s := serve(t)
	uri := s.Root() + "/p/d/r/a0/1/report.html"
	require.NoError(t, s.WriteAll(t.Context(), uri, []byte("<p>report</p>")))
	signed, err := s.SignGet(t.Context(), uri, blobstore.GetOptions{Expires: time.Minute})
	require.NoError(t, err)

	status, response := s.do(http.MethodGet, signed, "")
	require.Equal(t, http.StatusOK, status)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, "<p>report</p>", string(body))
	tag := response.Header.Get("Etag")
	status, _ = s.do(http.MethodGet, signed, "", func(r *http.Request) { r.Header.Set("If-None-Match", tag) })
	require.Equal(t, http.StatusNotModified, status)
	require.NoError(t, s.WriteAll(t.Context(), uri, []byte("<p>REPORT</p>")))
	status, _ = s.do(http.MethodGet, signed, "", func(r *http.Request) { r.Header.Set("If-None-Match", tag) })
	require.Equal(t, http.StatusOK, status, "within the same second, too")
	require.NoError(t, s.WriteAll(t.Context(), uri, []byte("<p>report</p>")))

	status, response = s.do(http.MethodGet, signed, "", func(r *http.Request) { r.Header.Set("Range", "bytes=3-8") })
	require.Equal(t, http.StatusPartialContent, status)
	body, err = io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, "report", string(body))

	status, response = s.do(http.MethodHead, signed, "")
	require.Equal(t, http.StatusOK, status)
	require.EqualValues(t, 13, response.ContentLength)

	require.Equal(t, http.StatusForbidden, s.put(signed, "x"))
	missing, err := s.SignGet(t.Context(), s.Root()+"/p/none", blobstore.GetOptions{Expires: time.Minute})
	require.NoError(t, err)
	status, _ = s.do(http.MethodGet, missing, "")
	require.Equal(t, http.StatusNotFound, status)

	s.clock.Step(time.Minute)
	status, _ = s.do(http.MethodGet, signed, "")
	require.Equal(t, http.StatusForbidden, status)
}

// What tasks wrote must never run as a page of the origin that serves the console and the API.
func TestContentIsNeverAPageOfOurs(t *testing.T) {
	s := serve(t)
	for _, name := range []string{"report.html", "picture.svg", "page.xhtml", "script.js", "feed.xml", "none", "a b\"ü.html"} {
		uri := s.Root() + "/p/d/r/a0/1/" + name
		require.NoError(t, s.WriteAll(t.Context(), uri, []byte("<html><script>alert(1)</script>")))

		kept, err := s.SignGet(t.Context(), uri, blobstore.GetOptions{Expires: time.Minute})
		require.NoError(t, err)
		status, response := s.do(http.MethodGet, kept, "")
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, "sandbox; default-src 'none'", response.Header.Get("Content-Security-Policy"), name)
		require.Equal(t, "application/octet-stream", response.Header.Get("Content-Type"))
		disposition, parameters, err := mime.ParseMediaType(response.Header.Get("Content-Disposition"))
		require.NoError(t, err)
		require.Equal(t, "attachment", disposition)
		require.Equal(t, name, parameters["filename"])

		shown, err := s.SignGet(t.Context(), uri, blobstore.GetOptions{Expires: time.Minute, ShowAs: "text/html; charset=utf-8"})
		require.NoError(t, err)
		status, response = s.do(http.MethodGet, shown, "")
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, "text/html; charset=utf-8", response.Header.Get("Content-Type"))
		require.Empty(t, response.Header.Get("Content-Disposition"))
		policy := response.Header.Get("Content-Security-Policy")
		require.Equal(t, []string{"sandbox", "allow-scripts", "allow-popups"}, strings.Fields(policy), "nothing that would give it an origin")
		for _, answer := range []*http.Response{response} {
			require.Equal(t, "nosniff", answer.Header.Get("X-Content-Type-Options"))
			require.Equal(t, "no-referrer", answer.Header.Get("Referrer-Policy"))
		}

		// Neither link can be turned into the other.
		status, _ = s.do(http.MethodGet, blobstore.Signed{URL: kept.URL + "&show=text%2Fhtml"}, "")
		require.Equal(t, http.StatusForbidden, status)
		status, _ = s.do(http.MethodGet, blobstore.Signed{URL: strings.Replace(shown.URL, "text%2Fhtml", "image%2Fsvg%2Bxml", 1)}, "")
		require.Equal(t, http.StatusForbidden, status)
	}
}

func TestURLOfAnotherStoreIsRefused(t *testing.T) {
	a, b := serve(t), serve(t)
	signed, err := a.SignGet(t.Context(), a.Root()+"/x", blobstore.GetOptions{Expires: time.Minute})
	require.NoError(t, err)
	u, err := url.Parse(signed.URL)
	require.NoError(t, err)
	other := httptest.NewRequest(http.MethodGet, u.RequestURI(), nil)
	recorder := httptest.NewRecorder()
	b.Handler().ServeHTTP(recorder, other)
	require.Equal(t, http.StatusForbidden, recorder.Code)
}
