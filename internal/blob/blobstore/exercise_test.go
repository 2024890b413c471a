package blobstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
)

// errEnough ends a listing.
var errEnough = errors.New("enough")

// exercise tests what every kind of store must do.
func exercise(t *testing.T, store *blobstore.Store) {
	ctx := t.Context()
	uri := store.Root() + "/p/d/run/a0/1/outputs.pb"

	t.Run("missing", func(t *testing.T) {
		_, err := store.ReadAll(ctx, uri, 0)
		require.ErrorIs(t, err, blobstore.ErrNotExist)
		require.ErrorIs(t, err, fs.ErrNotExist)
		_, err = store.Stat(ctx, uri)
		require.ErrorIs(t, err, blobstore.ErrNotExist)
		require.NoError(t, store.Delete(ctx, uri))
		require.NoError(t, store.Ping(ctx))
	})
	t.Run("write, read, overwrite", func(t *testing.T) {
		for _, body := range [][]byte{[]byte("one"), {}, bytes.Repeat([]byte("large"), 1<<20)} {
			require.NoError(t, store.WriteAll(ctx, uri, body))
			got, err := store.ReadAll(ctx, uri, 0)
			require.NoError(t, err)
			require.Len(t, got, len(body))
			require.True(t, bytes.Equal(body, got))
			info, err := store.Stat(ctx, uri)
			require.NoError(t, err)
			require.EqualValues(t, len(body), info.Size)
			require.False(t, info.ModTime.IsZero())
		}
	})
	t.Run("limit", func(t *testing.T) {
		require.NoError(t, store.WriteAll(ctx, uri, []byte("12345")))
		_, err := store.ReadAll(ctx, uri, 4)
		require.ErrorIs(t, err, blobstore.ErrTooLarge)
		_, err = store.ReadAll(ctx, uri, 5)
		require.NoError(t, err)
	})
	t.Run("parts", func(t *testing.T) {
		require.NoError(t, store.WriteAll(ctx, uri, []byte("0123456789")))
		for _, part := range []struct {
			offset, length int64
			want           string
		}{{0, 3, "012"}, {4, 2, "45"}, {8, 100, "89"}, {10, 5, ""}, {1 << 40, 5, ""}, {0, 1 << 40, "0123456789"}} {
			got, info, err := store.ReadRange(ctx, uri, part.offset, part.length)
			require.NoError(t, err)
			require.Equal(t, part.want, string(got))
			require.EqualValues(t, 10, info.Size)
		}
		_, _, err := store.ReadRange(ctx, uri+".missing", 0, 1)
		require.ErrorIs(t, err, blobstore.ErrNotExist)
		require.NoError(t, store.WriteAll(ctx, uri, nil))
		got, _, err := store.ReadRange(ctx, uri, 0, 5)
		require.NoError(t, err)
		require.Empty(t, got)
	})
	t.Run("a file where a directory is required", func(t *testing.T) {
		_, err := store.ReadAll(ctx, uri+"/below", 0)
		require.ErrorIs(t, err, blobstore.ErrNotExist)
		_, err = store.ReadAll(ctx, store.Root()+"/p/d/run", 0)
		require.ErrorIs(t, err, blobstore.ErrNotExist)
	})
	t.Run("an abandoned write leaves the old object", func(t *testing.T) {
		require.NoError(t, store.WriteAll(ctx, uri, []byte("old")))
		writing, cancel := context.WithCancel(ctx)
		w, err := store.NewWriter(writing, uri)
		require.NoError(t, err)
		_, err = io.WriteString(w, "new")
		require.NoError(t, err)
		cancel()
		require.Error(t, w.Close())
		got, err := store.ReadAll(ctx, uri, 0)
		require.NoError(t, err)
		require.Equal(t, "old", string(got))
	})
	t.Run("delete", func(t *testing.T) {
		require.NoError(t, store.Delete(ctx, uri))
		_, err := store.Stat(ctx, uri)
		require.ErrorIs(t, err, blobstore.ErrNotExist)
	})
	t.Run("measure", func(t *testing.T) {
		base := store.Root() + "/p/d/measured"
		measure := func(after string, visit func(blobstore.Page) error) (total blobstore.Page) {
			t.Helper()
			err := store.Measure(ctx, base+"/", after, 9, func(p blobstore.Page) error {
				total.Objects, total.Bytes, total.Next = total.Objects+p.Objects, total.Bytes+p.Bytes, p.Next
				return visit(p)
			})
			if !errors.Is(err, errEnough) {
				require.NoError(t, err)
			}
			return total
		}
		on := func(blobstore.Page) error { return nil }
		require.Equal(t, blobstore.Page{}, measure("", on), "nothing is there")
		// Several pages, and names whose order as paths is not that of the characters.
		for i := range 60 {
			require.NoError(t, store.WriteAll(ctx, fmt.Sprintf("%s/%d/x", base, i), []byte("12")))
		}
		for _, name := range []string{"-not/x", "/50-a", "/50/y/z", "/zz"} {
			require.NoError(t, store.WriteAll(ctx, base+name, []byte("123")))
		}
		all := measure("", on)
		require.Equal(t, blobstore.Page{Objects: 63, Bytes: 129}, all)
		for pages := 1; pages <= 6; pages++ {
			left := pages
			first := measure("", func(blobstore.Page) error {
				if left--; left == 0 {
					return errEnough
				}
				return nil
			})
			require.EqualValues(t, 9*pages, first.Objects)
			rest := measure(first.Next, on)
			require.Equal(t, all.Objects, first.Objects+rest.Objects)
			require.Equal(t, all.Bytes, first.Bytes+rest.Bytes)
		}
		require.ErrorIs(t, store.Measure(ctx, "/elsewhere", "", 9, on), blobstore.ErrForbiddenPath)
		require.NoError(t, store.DeletePrefix(ctx, base+"/"))
	})
	t.Run("delete a prefix", func(t *testing.T) {
		base := store.Root() + "/p/d/gone"
		for _, name := range []string{"/a0/1/outputs.pb", "/a0/1/_logs/main.log", "/inputs/inputs.pb", "-not/a0/1/outputs.pb"} {
			require.NoError(t, store.WriteAll(ctx, base+name, []byte("x")))
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		require.Error(t, store.DeletePrefix(ended, base+"/"))
		require.NoError(t, store.DeletePrefix(ctx, base+"/"))
		for _, name := range []string{"/a0/1/outputs.pb", "/a0/1/_logs/main.log", "/inputs/inputs.pb"} {
			_, err := store.Stat(ctx, base+name)
			require.ErrorIs(t, err, blobstore.ErrNotExist, name)
		}
		_, err := store.Stat(ctx, base+"-not/a0/1/outputs.pb")
		require.NoError(t, err, "a name that only shares the prefix")
		require.NoError(t, store.DeletePrefix(ctx, base+"/"), "nothing left to delete")
		for _, forbidden := range []string{base, store.Root() + "/", "/etc/", store.Root() + "/p/../../x/", store.Root() + "/p//"} {
			require.ErrorIs(t, store.DeletePrefix(ctx, forbidden), blobstore.ErrForbiddenPath, forbidden)
		}
	})
	t.Run("check", func(t *testing.T) { require.NoError(t, store.Check(ctx)) })
	t.Run("foreign", func(t *testing.T) {
		for _, foreign := range []string{"s3://other/x", "gs://other/x", "/etc/passwd", store.Root() + "-other/x", store.Root() + "/a/../../x"} {
			_, err := store.SignGet(ctx, foreign, blobstore.GetOptions{Expires: 1})
			require.ErrorIs(t, err, blobstore.ErrForbiddenPath)
			_, err = store.SignPut(ctx, foreign, blobstore.PutOptions{Expires: 1})
			require.ErrorIs(t, err, blobstore.ErrForbiddenPath)
		}
	})
}
