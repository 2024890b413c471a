package blobstore_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/test/s3test"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// silentS3 is an object store over HTTP that takes every request. Of an object whose name ends with "half" it sends a
// part; it answers nothing else until the test ends.
func silentS3(t *testing.T) (store *blobstore.Store, clk *clock.Fake, asked chan string) {
	asked = make(chan string, 16)
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "half") {
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "12345")
			_ = http.NewResponseController(w).Flush()
		}
		asked <- r.Method
		select {
		case <-r.Context().Done():
		case <-ended:
		}
	}))
	clk = clock.NewFake(time.Now())
	store = open(t, (&s3test.Server{URL: server.URL}).Config("s3://bucket/some/prefix"), blobstore.WithClock(clk))
	t.Cleanup(func() { close(ended); server.Close() })
	return store, clk, asked
}

func TestSilentStoreIsGivenUp(t *testing.T) {
	store, clk, asked := silentS3(t)
	uri := store.Root() + "/p/d/run/a0/1/outputs.pb"
	for name, operation := range map[string]func(ctx context.Context) error{
		"read":          func(ctx context.Context) error { _, err := store.ReadAll(ctx, uri, 100); return err },
		"read the rest": func(ctx context.Context) error { _, err := store.ReadAll(ctx, uri+".half", 100); return err },
		"open":          func(ctx context.Context) error { _, err := store.NewReader(ctx, uri); return err },
		"look":          func(ctx context.Context) error { _, err := store.Stat(ctx, uri); return err },
		"write":         func(ctx context.Context) error { return store.WriteAll(ctx, uri, []byte("x")) },
		"delete":        func(ctx context.Context) error { return store.Delete(ctx, uri) },
		"list": func(ctx context.Context) error {
			return store.List(ctx, uri, func(blobstore.Object) error { return nil })
		},
		"delete a prefix": func(ctx context.Context) error { return store.DeletePrefix(ctx, store.Root()+"/p/d/run/") },
	} {
		t.Run(name, func(t *testing.T) {
			failed := make(chan error, 1)
			go func() { failed <- operation(t.Context()) }()
			<-asked
			clk.Step(blobstore.DefaultConfig().Timeout)
			require.ErrorIs(t, <-failed, blobstore.ErrNoAnswer)
		})
	}
}

func TestSilentStreamIsGivenUp(t *testing.T) {
	store, clk, asked := silentS3(t)
	r, err := store.NewReader(t.Context(), store.Root()+"/half")
	require.NoError(t, err)
	<-asked
	begun := make([]byte, 5)
	_, err = io.ReadFull(r, begun)
	require.NoError(t, err)
	require.Equal(t, "12345", string(begun))
	failed := make(chan error, 1)
	go func() { _, err := r.Read(begun); failed <- err }()
	require.Eventually(t, func() bool { return clk.Timers() > 0 }, 10*time.Second, time.Millisecond)
	clk.Step(blobstore.DefaultConfig().Timeout)
	require.ErrorIs(t, <-failed, blobstore.ErrNoAnswer)
	_, err = r.Read(begun)
	require.ErrorIs(t, err, blobstore.ErrNoAnswer, "it stays so")
	require.NoError(t, r.Close())
}

func TestStreamsKeepTheirContent(t *testing.T) {
	store := openFiles(t)
	content := bytes.Repeat([]byte("0123456789"), 50_000)
	w, err := store.NewWriter(t.Context(), store.Root()+"/x")
	require.NoError(t, err)
	_, err = io.Copy(w, struct{ io.Reader }{bytes.NewReader(content)})
	require.NoError(t, err)
	require.NoError(t, w.Close())
	r, err := store.NewReader(t.Context(), store.Root()+"/x")
	require.NoError(t, err)
	got, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.True(t, bytes.Equal(content, got))
}

func TestCheckWrite(t *testing.T) {
	store := openFiles(t)
	require.NoError(t, store.CheckWrite(t.Context()))
	require.NoError(t, store.CheckWrite(t.Context()), "again")
	free, known, err := store.FreeBytes(t.Context())
	require.NoError(t, err)
	require.True(t, known)
	require.Positive(t, free)
}
