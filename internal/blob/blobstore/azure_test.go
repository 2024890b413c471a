//go:build !nocloudazure

package blobstore_test

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
)

// Azure's signatures bind no digest, so a URL must not be able to replace anything. The server answers what Azure answers
// for the properties of a blob.
func TestAzureURLsOnlyCreate(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/there") {
			w.Header().Set("x-ms-error-code", "BlobNotFound")
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Length", "4")
		w.Header().Set("Content-MD5", base64.StdEncoding.EncodeToString(digest("good")))
		w.Header().Set("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
		w.Header().Set("x-ms-creation-time", "Thu, 01 Jan 2026 00:00:00 GMT")
		w.Header().Set("Etag", "x")
	}))
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	require.NoError(t, err)
	for name, value := range map[string]string{
		"AZURE_STORAGE_KEY": "a2V5", "AZURE_STORAGE_ACCOUNT": "account", "AZURE_STORAGE_DOMAIN": address.Host,
		"AZURE_STORAGE_PROTOCOL": "http", "AZURE_STORAGE_IS_LOCAL_EMULATOR": "true",
	} {
		t.Setenv(name, value)
	}
	config := blobstore.DefaultConfig()
	config.URL = "abfs://container@account.dfs.core.windows.net/data"
	store := open(t, config)
	sign := func(name, content string, createOnly bool) (*url.URL, error) {
		signed, err := store.SignPut(t.Context(), store.Root()+"/uploads/p/d/x/"+name, blobstore.PutOptions{
			Expires: time.Minute, ContentMD5: digest(content), CreateOnly: createOnly,
		})
		if err != nil {
			return nil, err
		}
		return url.Parse(signed.URL)
	}
	for _, createOnly := range []bool{true, false} {
		created, err := sign("new", "good", createOnly)
		require.NoError(t, err)
		require.Equal(t, "c", created.Query().Get("sp"), "create, not write")
		require.Contains(t, created.Path, "/data/uploads/p/d/x/new")

		_, err = sign("there", "evil", createOnly)
		require.ErrorIs(t, err, blobstore.ErrExists)
		again, err := sign("there", "good", createOnly)
		require.NoError(t, err)
		require.Equal(t, "c", again.Query().Get("sp"))
		require.NotContains(t, again.Path, "there", "what is there needs no writing")
	}
}
