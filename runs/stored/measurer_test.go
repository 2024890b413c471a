package stored_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/runs/store/measured"
	"github.com/flyte-binary/flyte-binary/runs/stored"
)

func TestWhatCountsForAProject(t *testing.T) {
	f := newFixture(t, limited(1000), "p", "p-x", "q")
	f.write("p/development/r1.aaaaaaaaaaaaaaaa", 3)
	f.write("p/production/_apps", 2)
	f.write("uploads/p/development", 4)
	f.write("p-x/development", 5)
	f.write("_team/p/development", 6) // of a run with a base directory of its own
	require.NoError(t, f.guard().EnterRun(t.Context(), "p", "", f.blobs.Root()+"/_team/", f.blobs.Root()+"/p/mine", "s3://elsewhere/x", ""))
	f.pass()
	row := f.row("p")
	require.EqualValues(t, 15, row.Objects)
	require.EqualValues(t, 30, row.Bytes)
	require.True(t, row.MeasuredAt.Equal(start), row.MeasuredAt)
	require.EqualValues(t, 10, f.row("p-x").Bytes)
	require.NotNil(t, f.row("q").MeasuredAt)
	require.Zero(t, f.row("q").Bytes)
}

func TestOnlyProjectsWithALimitAreMeasured(t *testing.T) {
	config := stored.DefaultConfig()
	config.Projects = []stored.Project{{Project: "p", Bytes: 10}}
	f := newFixture(t, config, "p", "q")
	f.pass()
	require.NotNil(t, f.row("p").MeasuredAt)
	require.Nil(t, f.row("q").MeasuredAt)
	f.config.Measure = true
	f.pass()
	require.NotNil(t, f.row("q").MeasuredAt)
}

// A process that dies in the middle of a listing leaves its place, and what it has seen. Another continues there.
func TestAListingContinuesInAnotherProcess(t *testing.T) {
	f := newFixture(t, limited(1_000_000), "p")
	f.write("p/development", 63) // 13 pages
	f.write("uploads/p/development", 1)
	ctx, die := context.WithCancel(t.Context())
	f.blobs.after, f.blobs.err = 12, context.Canceled
	dying := stored.NewMeasurer(f.config, stored.Deps{Rows: f.rows, Blobs: dyingStore{f.blobs, die}, Meters: f.meters, Clock: f.clock})
	require.ErrorIs(t, dying.Pass(ctx), context.Canceled)
	left := f.row("p")
	require.Nil(t, left.MeasuredAt)
	require.NotNil(t, left.BeganAt)
	require.EqualValues(t, 10, left.SeenPages)
	require.EqualValues(t, 50, left.SeenObjects)

	f.blobs.after, f.blobs.pages = -1, 0
	f.pass()
	row := f.row("p")
	require.EqualValues(t, 64, row.Objects)
	require.EqualValues(t, 128, row.Bytes)
	require.Equal(t, left.BeganAt, row.MeasuredAt)
	require.Equal(t, 4, f.blobs.pages, "the pages that were stored are not listed again")
}

// dyingStore ends the process, which is its context, when the store fails.
type dyingStore struct {
	*interrupted
	die func()
}

func (d dyingStore) Measure(ctx context.Context, uri, after string, size int, visit func(page) error) error {
	err := d.interrupted.Measure(ctx, uri, after, size, visit)
	if err != nil {
		d.die()
	}
	return err
}

// Two processes that both believe that they have the lease do not count anything twice.
func TestTwoProcessesDoNotCountTwice(t *testing.T) {
	f := newFixture(t, limited(1000), "p")
	l, err := f.rows.Begin(t.Context(), "p", start)
	require.NoError(t, err)
	next := l
	next.SeenPages, next.SeenBytes = 1, 7
	require.NoError(t, f.rows.Advance(t.Context(), "p", l, next, nil))
	require.ErrorIs(t, f.rows.Advance(t.Context(), "p", l, next, nil), measured.ErrSuperseded)
	require.ErrorIs(t, f.rows.Finish(t.Context(), "p", l), measured.ErrSuperseded)
	require.NoError(t, f.rows.Finish(t.Context(), "p", next))
	require.EqualValues(t, 7, f.row("p").Bytes)
}

// While the store fails, the old number stays, and the listing continues after a pause.
func TestAFailureKeepsTheOldNumber(t *testing.T) {
	f := newFixture(t, limited(1_000_000), "p", "q")
	f.write("p/development", 1)
	f.pass()
	f.write("p/development", 60)
	f.clock.Step(f.config.Interval)
	f.blobs.after = 11
	require.ErrorIs(t, f.measurer().Pass(t.Context()), errGone)
	row := f.row("p")
	require.EqualValues(t, 2, row.Bytes)
	require.NotNil(t, row.FailedAt)
	require.Contains(t, row.Failure, "the store is gone")
	require.EqualValues(t, 50, row.SeenObjects)

	f.blobs.after, f.blobs.pages = -1, 0
	f.pass()
	require.EqualValues(t, 2, f.row("p").Bytes, "not before the pause has passed")
	f.clock.Step(f.config.NearInterval)
	f.pass()
	row = f.row("p")
	require.EqualValues(t, 120, row.Bytes)
	require.Nil(t, row.FailedAt)
	require.Empty(t, row.Failure)
	require.LessOrEqual(t, f.blobs.pages, 6)
}

// The place of a listing may mean nothing to a store that was replaced. The listing begins again.
func TestAPlaceThatTheStoreDoesNotKnowIsGivenUp(t *testing.T) {
	f := newFixture(t, limited(1_000_000), "p")
	f.write("p/development", 3)
	l, err := f.rows.Begin(t.Context(), "p", start)
	require.NoError(t, err)
	place := l
	place.Prefix, place.Token, place.SeenPages, place.SeenBytes = f.blobs.Root()+"/p", "unknown", 1, 100
	require.NoError(t, f.rows.Advance(t.Context(), "p", l, place, nil))
	f.blobs.after = 0
	require.ErrorIs(t, f.measurer().Pass(t.Context()), errGone)
	f.blobs.after = -1
	f.clock.Step(f.config.NearInterval)
	f.pass()
	require.EqualValues(t, 6, f.row("p").Bytes)
}

func TestAListingOfAPrefixThatIsGoneBeginsAgain(t *testing.T) {
	f := newFixture(t, limited(1_000_000), "p")
	f.write("p/development", 3)
	l, err := f.rows.Begin(t.Context(), "p", start)
	require.NoError(t, err)
	place := l
	place.Prefix, place.SeenPages, place.SeenBytes = "s3://before/p/", 1, 100
	require.NoError(t, f.rows.Advance(t.Context(), "p", l, place, nil))
	f.pass()
	require.EqualValues(t, 6, f.row("p").Bytes)
}

func TestProjectsNearTheirLimitAreMeasuredSooner(t *testing.T) {
	f := newFixture(t, limited(10), "near", "far")
	f.write("near/development", 4)
	f.write("far/development", 3)
	f.pass()
	f.clock.Step(f.config.NearInterval)
	f.pass()
	require.True(t, f.row("near").MeasuredAt.After(start.Add(f.config.NearInterval-time.Second)))
	require.True(t, f.row("far").MeasuredAt.Before(start.Add(time.Minute)))
	require.NoError(t, f.rows.Add(t.Context(), "far", map[string]int64{"": 2})) // uploads bring it near
	f.clock.Step(time.Second)
	f.pass()
	require.True(t, f.row("far").MeasuredAt.After(start.Add(f.config.NearInterval)))
	require.Zero(t, f.row("far").Added)
	f.clock.Step(f.config.Interval)
	f.pass()
	require.True(t, f.row("far").MeasuredAt.After(start.Add(f.config.Interval)))
}

func TestTheRateOfRequestsIsBounded(t *testing.T) {
	f := newFixture(t, limited(1_000_000), "p")
	f.config.RequestsPerSecond = 2
	f.write("p/development", 18)
	f.pass()
	require.Equal(t, start.Add(5*time.Second/2), f.clock.Now(), "four pages of runs and one of uploads")
}

func TestWithoutALimitNothingRuns(t *testing.T) {
	f := newFixture(t, stored.DefaultConfig(), "p")
	m := f.measurer() // without leases
	require.NoError(t, m.Start(t.Context()))
	require.NoError(t, m.Stop(t.Context()))
	require.NoError(t, f.guard().EnterRun(t.Context(), "p", "", f.blobs.Root()+"/_team"))
	followed, err := enterUpload(t, f.guard(), 1, 1)
	require.NoError(t, err)
	require.False(t, followed)
	prefixes, err := f.rows.Prefixes(t.Context(), "p")
	require.NoError(t, err)
	require.Empty(t, prefixes)
	require.Zero(t, f.row("p").Added)
}
