package stored_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/test/s3test"
	"github.com/flyte-binary/flyte-binary/runs/stored"
)

// TestAnS3StoreIsMeasured measures over the protocol of S3 with a real server: pages and their tokens, a process that dies between two
// pages, an upload meanwhile, and the refusal at the limit, which ends when data are deleted.
func TestAnS3StoreIsMeasured(t *testing.T) {
	server := s3test.Start(t, "bucket")
	f := newFixtureOn(t, server.Config("s3://bucket/data"), limited(200), "p", "p-x")
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	server.Put(t, "bucket", "data/p/development/r1.aaaaaaaaaaaaaaaa", 60) // 12 pages
	server.Put(t, "bucket", "data/uploads/p/development", 4)
	server.Put(t, "bucket", "data/p-x/development", 7)
	require.NoError(t, f.guard().EnterRun(t.Context(), "p", "", "s3://bucket/data/_team/", "s3://other/x"))
	server.Put(t, "bucket", "data/_team/p/development", 6) // two pages, below the base directory of a run

	ctx, die := context.WithCancel(t.Context())
	f.blobs.after, f.blobs.err = 13, context.Canceled
	dying := stored.NewMeasurer(f.config, stored.Deps{Rows: f.rows, Blobs: dyingStore{f.blobs, die}, Meters: f.meters, Clock: f.clock})
	require.ErrorIs(t, dying.Pass(ctx), context.Canceled)
	left := f.row("p")
	require.Nil(t, left.MeasuredAt)
	require.Contains(t, left.Prefix, "s3://bucket/data/p", "it died among the objects of the runs")
	require.NotEmpty(t, left.Token, "the server of S3 has said where to continue")
	require.NoError(t, f.guard().EnterRun(t.Context(), "p", ""), "half a measurement limits nothing")

	followed, err := enterUpload(t, f.guard(), 3, 5) // five bytes have arrived since
	require.NoError(t, err)
	require.True(t, followed)
	f.blobs.after, f.blobs.pages = -1, 0
	f.pass()
	row := f.row("p")
	require.Equal(t, []int64{70, 140, 5}, []int64{row.Objects, row.Bytes, row.Added})
	require.Equal(t, left.BeganAt, row.MeasuredAt, "the same measurement")
	require.LessOrEqual(t, f.blobs.pages, 6, "of p; the pages that were stored are not listed again")
	require.EqualValues(t, 14, f.row("p-x").Bytes)

	require.NoError(t, f.guard().EnterRun(t.Context(), "p", ""))
	_, err = enterUpload(t, f.guard(), 56, 0)
	requireFull(t, err, "the file has 56 bytes, and project p has 145 of at most 200 bytes in the object store")
	server.Put(t, "bucket", "data/p/production/r2.bbbbbbbbbbbbbbbb", 40)
	f.clock.Step(f.config.Interval)
	f.pass()
	require.Equal(t, []int64{110, 220, 0}, []int64{f.row("p").Objects, f.row("p").Bytes, f.row("p").Added})
	requireFull(t, f.guard().EnterRun(t.Context(), "p", ""), "project p has 220 bytes in the object store, measured at", "and may have 200 (runs.stored.projectBytes)")
	require.NoError(t, f.guard().EnterRun(t.Context(), "p-x", ""))

	require.NoError(t, f.blobs.DeletePrefix(t.Context(), f.blobs.Root()+"/p/production/"))
	f.clock.Step(f.config.NearInterval)
	f.pass()
	require.EqualValues(t, 140, f.row("p").Bytes)
	require.NoError(t, f.guard().EnterRun(t.Context(), "p", ""))
}
