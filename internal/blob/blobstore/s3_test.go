package blobstore_test

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/test/s3test"
)

func TestS3(t *testing.T) {
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	config := s3test.Start(t, "bucket", "other").Config("s3://bucket/some/prefix")
	store := open(t, config)
	require.Equal(t, "s3://bucket/some/prefix", store.Root())
	require.Nil(t, store.Handler(), "the object store serves its own URLs")
	exercise(t, store)
	t.Run("signed put", func(t *testing.T) { signedPutS3(t, store) })
	t.Run("an upload replaces nothing", func(t *testing.T) { createOnlyS3(t, store) })
	t.Run("signed get", func(t *testing.T) { signedGetS3(t, store) })
	t.Run("foreign bucket", func(t *testing.T) {
		_, err := store.ReadAll(t.Context(), "s3://other/some/prefix/x", 0)
		require.ErrorIs(t, err, blobstore.ErrForbiddenPath)
		_, err = store.ReadAll(t.Context(), "s3://bucket/elsewhere/x", 0)
		require.ErrorIs(t, err, blobstore.ErrForbiddenPath)
	})
	t.Run("extra prefix", func(t *testing.T) {
		wider := config
		wider.ExtraPrefixes = []string{"s3://other"}
		second := open(t, wider)
		require.NoError(t, second.WriteAll(t.Context(), "s3://other/x", []byte("1")))
		_, err := second.ReadAll(t.Context(), "s3://other/x", 0)
		require.NoError(t, err)
	})
	t.Run("wrong credentials", func(t *testing.T) {
		wrong := config
		wrong.S3.SecretAccessKey = "wrong"
		second := open(t, wrong)
		require.Error(t, second.Check(t.Context()))
		require.Error(t, second.WriteAll(t.Context(), second.Root()+"/x", nil))
		_, err := second.Stat(t.Context(), second.Root()+"/x")
		require.NotErrorIs(t, err, blobstore.ErrNotExist)
	})
}

func signedPutS3(t *testing.T, store *blobstore.Store) {
	uri := store.Root() + "/uploads/p/d/fast.tar.gz"
	signed, err := store.SignPut(t.Context(), uri, blobstore.PutOptions{
		Expires: time.Minute, ContentMD5: digest("good"), MD5Metadata: true,
	})
	require.NoError(t, err)
	s := served{store, t, nil}
	missing := func() {
		t.Helper()
		_, err := store.Stat(t.Context(), uri)
		require.ErrorIs(t, err, blobstore.ErrNotExist)
	}

	require.GreaterOrEqual(t, s.put(signed, "evil"), 400, "the content does not have the digest")
	missing()
	evil := base64.StdEncoding.EncodeToString(digest("evil"))
	require.Equal(t, http.StatusForbidden, s.put(signed, "evil", func(r *http.Request) { r.Header.Set("Content-MD5", evil) }),
		"the digest is signed")
	missing()
	u, err := url.Parse(signed.URL)
	require.NoError(t, err)
	u.Path += "x"
	require.Equal(t, http.StatusForbidden, s.put(blobstore.Signed{URL: u.String(), Headers: signed.Headers}, "good"), "so is the path")
	status, _ := s.do(http.MethodGet, signed, "")
	require.Equal(t, http.StatusForbidden, status, "and the verb")

	require.Equal(t, http.StatusOK, s.put(signed, "good"))
	info, err := store.Stat(t.Context(), uri)
	require.NoError(t, err)
	require.EqualValues(t, 4, info.Size)
	require.Equal(t, base64.StdEncoding.EncodeToString(digest("good")), info.Metadata["flytecontentmd5"])
}

func createOnlyS3(t *testing.T, store *blobstore.Store) {
	s := served{store, t, nil}
	sign := func(name, content string) (blobstore.Signed, error) {
		o := blobstore.PutOptions{Expires: time.Minute, CreateOnly: true, MD5Metadata: true}
		if content != "" {
			o.ContentMD5 = digest(content)
		}
		return store.SignPut(t.Context(), store.Root()+"/uploads/p/d/x/"+name, o)
	}
	content := func(name string) string {
		body, err := store.ReadAll(t.Context(), store.Root()+"/uploads/p/d/x/"+name, 0)
		require.NoError(t, err)
		return string(body)
	}
	good, err := sign("bundle", "good")
	require.NoError(t, err)
	_, err = sign("bundle", "evil")
	require.ErrorIs(t, err, blobstore.ErrExists, "before anything is there: the name was given out")
	_, err = sign("bundle", "")
	require.ErrorIs(t, err, blobstore.ErrExists)
	require.Equal(t, http.StatusOK, s.put(good, "good"))
	require.Equal(t, http.StatusOK, s.put(good, "good"), "the answer was lost")
	require.GreaterOrEqual(t, s.put(good, "evil"), 400)
	again, err := sign("bundle", "good")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, s.put(again, "good"), "the same content again")
	require.Equal(t, "good", content("bundle"))

	require.NoError(t, store.WriteAll(t.Context(), store.Root()+"/uploads/p/d/x/older", []byte("good")))
	_, err = sign("older", "evil")
	require.ErrorIs(t, err, blobstore.ErrExists, "it was uploaded before names were given out")
	_, err = sign("older", "good")
	require.NoError(t, err)

	first, err := sign("any", "")
	require.NoError(t, err)
	second, err := sign("any", "")
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, s.put(first, "one", func(r *http.Request) { r.Header.Del("If-None-Match") }), "the condition is signed")
	require.Equal(t, http.StatusOK, s.put(first, "one"))
	require.Equal(t, http.StatusPreconditionFailed, s.put(second, "two"))
	require.Equal(t, "one", content("any"))

	_, err = store.ReadAll(t.Context(), store.Root()+"/.flyte-claims/x", 0)
	require.ErrorIs(t, err, blobstore.ErrForbiddenPath, "claims of signed URLs cannot be read")
}

func signedGetS3(t *testing.T, store *blobstore.Store) {
	uri := store.Root() + "/p/d/r/report.html"
	require.NoError(t, store.WriteAll(t.Context(), uri, []byte("report")))
	signed, err := store.SignGet(t.Context(), uri, blobstore.GetOptions{Expires: time.Minute, ShowAs: "text/html; charset=utf-8"})
	require.NoError(t, err)
	leadsTo, err := url.Parse(signed.URL)
	require.NoError(t, err)
	require.Equal(t, []string{"http://" + leadsTo.Host}, store.Origins())
	s := served{store, t, nil}
	status, response := s.do(http.MethodGet, signed, "")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "text/html; charset=utf-8", response.Header.Get("Content-Type"))
	require.Equal(t, "inline", response.Header.Get("Content-Disposition"))
	kept, err := store.SignGet(t.Context(), uri, blobstore.GetOptions{Expires: time.Minute})
	require.NoError(t, err)
	_, answer := s.do(http.MethodGet, kept, "")
	require.Equal(t, "application/octet-stream", answer.Header.Get("Content-Type"))
	require.Equal(t, `attachment; filename=report.html`, answer.Header.Get("Content-Disposition"))
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, "report", string(body))
	status, _ = s.do(http.MethodGet, blobstore.Signed{URL: strings.Replace(signed.URL, "report", "other", 1)}, "")
	require.Equal(t, http.StatusForbidden, status)
}
