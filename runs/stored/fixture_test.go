package stored_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs/store"
	"github.com/flyte-binary/flyte-binary/runs/store/catalog"
	"github.com/flyte-binary/flyte-binary/runs/store/measured"
	"github.com/flyte-binary/flyte-binary/runs/stored"
)

var start = time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC)

// fixture measures a directory by a database of its own, without waiting between requests.
type fixture struct {
	*testing.T
	pool   *pgxpool.Pool
	rows   *measured.Store
	blobs  *interrupted
	clock  *jumping
	config stored.Config
	meters *stored.Meters
}

// jumping is a clock whose timers end at once, and whose time passes by them alone.
type jumping struct{ *clock.Fake }

// NewTimer implements clock.Clock.
func (j *jumping) NewTimer(d time.Duration) clock.Timer {
	timer := j.Fake.NewTimer(d)
	j.Step(d)
	return timer
}

// pageSize is that of the tests.
const pageSize = 5

// interrupted is an object store with small pages that fails after some of them.
type interrupted struct {
	*blobstore.Store
	pages int   // visited so far
	after int   // fail after this number of pages; negative means never
	err   error // the failure
}

var errGone = errors.New("the store is gone")

func (b *interrupted) Measure(ctx context.Context, uri, after string, _ int, visit func(blobstore.Page) error) error {
	if b.after == 0 {
		return b.err
	}
	return b.Store.Measure(ctx, uri, after, pageSize, func(page blobstore.Page) error {
		b.pages++
		if err := visit(page); err != nil {
			return err
		}
		if b.after--; b.after == 0 {
			return b.err
		}
		return nil
	})
}

func newFixture(t *testing.T, config stored.Config, projects ...string) *fixture {
	t.Helper()
	blobs := blobstore.DefaultConfig()
	blobs.URL, blobs.Sync = t.TempDir(), false
	return newFixtureOn(t, blobs, config, projects...)
}

// newFixtureOn is newFixture with another object store.
func newFixtureOn(t *testing.T, blobs blobstore.Config, config stored.Config, projects ...string) *fixture {
	t.Helper()
	f := &fixture{T: t, pool: pgtest.New(t, store.Migrations()), config: config, clock: &jumping{clock.NewFake(start)}}
	opened, err := blobstore.Open(t.Context(), blobs)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, opened.Close()) })
	f.blobs = &interrupted{Store: opened, after: -1, err: errGone}
	f.rows = measured.New(f.pool)
	f.meters, err = stored.NewMeters(noop.NewMeterProvider().Meter(""))
	require.NoError(t, err)
	require.NoError(t, catalog.NewProjects(f.pool).Seed(t.Context(), projects, start))
	return f
}

func limited(bytes int64) stored.Config {
	config := stored.DefaultConfig()
	config.ProjectBytes = bytes
	return config
}

// measurer is one process.
func (f *fixture) measurer() *stored.Measurer {
	return stored.NewMeasurer(f.config, stored.Deps{Rows: f.rows, Blobs: f.blobs, Meters: f.meters, Clock: f.clock, Logger: zerolog.Nop()})
}

func (f *fixture) guard() *stored.Guard {
	return stored.NewGuard(f.config, f.rows, f.blobs, f.meters, f.clock)
}

func (f *fixture) pass() {
	f.Helper()
	require.NoError(f, f.measurer().Pass(f.Context()))
}

// write stores objects of two bytes.
func (f *fixture) write(dir string, objects int) {
	f.Helper()
	for i := range objects {
		require.NoError(f, f.blobs.WriteAll(f.Context(), fmt.Sprintf("%s/%s/%d/x", f.blobs.Root(), dir, i), []byte("12")))
	}
}

func (f *fixture) row(project string) measured.Row {
	f.Helper()
	row, err := f.rows.Get(f.Context(), project)
	require.NoError(f, err)
	return row
}

func requireFull(t *testing.T, err error, words ...string) time.Duration {
	t.Helper()
	var reached *rpc.Error
	require.ErrorAs(t, err, &reached)
	require.Equal(t, rpc.KindResourceExhausted, reached.Kind)
	for _, word := range words {
		require.Contains(t, reached.Message, word)
	}
	return reached.RetryAfter
}

// enterUpload asks for an upload without a caller to project p.
func enterUpload(t *testing.T, guard *stored.Guard, size, arrived int64) (followed bool, err error) {
	t.Helper()
	return guard.EnterUpload(t.Context(), stored.Upload{Project: "p", Size: size, Arrived: map[string]int64{"": arrived}})
}
