package stored_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/blob/blobstore"
	"github.com/flyte-binary/flyte-binary/runs/stored"
)

type page = blobstore.Page

func TestAFullProjectGetsNoRunsAndNoUploads(t *testing.T) {
	f := newFixture(t, limited(10), "p", "q")
	guard := f.guard()
	require.NoError(t, guard.EnterRun(t.Context(), "p", ""), "what was not measured limits nothing")
	f.write("p/development", 5)
	f.pass()
	f.clock.Step(5 * time.Minute)
	words := []string{
		"project p has 10 bytes in the object store, measured at 2026-07-01T00:00:0", "and may have 10 (runs.stored.projectBytes)",
		"delete data of the project, or let runs.retention delete old runs, and try again after the next measurement, in 10m0s",
	}
	wait := requireFull(t, guard.EnterRun(t.Context(), "p", ""), words...)
	require.Equal(t, 10*time.Minute, wait)
	_, err := enterUpload(t, guard, 0, 0)
	requireFull(t, err, words...)
	require.NoError(t, guard.EnterRun(t.Context(), "q", ""))

	require.NoError(t, f.blobs.DeletePrefix(t.Context(), f.blobs.Root()+"/p/development/0/"))
	requireFull(t, guard.EnterRun(t.Context(), "p", ""))
	f.clock.Step(15 * time.Minute)
	require.Equal(t, 10*time.Second, requireFull(t, guard.EnterRun(t.Context(), "p", "")), "the measurement is due")
	f.pass()
	f.clock.Step(2 * time.Second)
	require.NoError(t, guard.EnterRun(t.Context(), "p", ""))
}

func TestUploadsCountUntilTheNextMeasurement(t *testing.T) {
	f := newFixture(t, limited(10), "p")
	f.write("p/development", 2)
	f.pass()
	guard := f.guard()
	followed, err := enterUpload(t, guard, 6, 0)
	require.NoError(t, err)
	require.True(t, followed)
	_, err = enterUpload(t, guard, 7, 0)
	requireFull(t, err, "the file has 7 bytes, and project p has 4 of at most 10 bytes in the object store")
	_, err = enterUpload(t, guard, 0, 6)
	requireFull(t, err, "project p has 10 bytes")
	requireFull(t, f.guard().EnterRun(t.Context(), "p", ""), "project p has 10 bytes") // another process
	f.clock.Step(f.config.NearInterval)
	f.pass()
	require.NoError(t, f.guard().EnterRun(t.Context(), "p", ""), "the measurement did not find them")
}

// What arrives during a listing may be in it or not. It counts, so that the number is not too small.
func TestUploadsDuringAListingCount(t *testing.T) {
	f := newFixture(t, limited(100), "p")
	l, err := f.rows.Begin(t.Context(), "p", start)
	require.NoError(t, err)
	require.NoError(t, f.rows.Add(t.Context(), "p", map[string]int64{"": 5}))
	require.NoError(t, f.rows.Finish(t.Context(), "p", l))
	require.EqualValues(t, 5, f.row("p").Added)
}

// A number that is too old limits nothing: those who are refused could not do anything about it.
func TestAnOldMeasurementLimitsNothing(t *testing.T) {
	f := newFixture(t, limited(2), "p")
	f.write("p/development", 1)
	f.pass()
	guard := f.guard()
	f.clock.Step(4*f.config.Interval - time.Second)
	requireFull(t, guard.EnterRun(t.Context(), "p", ""))
	f.clock.Step(3 * time.Second)
	require.NoError(t, guard.EnterRun(t.Context(), "p", ""))
	use, measured, err := guard.Use(t.Context(), "p")
	require.NoError(t, err)
	require.True(t, measured)
	require.EqualValues(t, 2, use.Used, "it is still shown")
}

func TestAProjectMayHaveALimitOfItsOwn(t *testing.T) {
	config := limited(2)
	config.Projects = []stored.Project{{Project: "large", Bytes: 100}, {Project: "free", Bytes: 0}}
	f := newFixture(t, config, "small", "large", "free")
	for _, project := range []string{"small", "large", "free"} {
		f.write(project+"/development", 2)
	}
	f.pass()
	requireFull(t, f.guard().EnterRun(t.Context(), "small", ""), "may have 2 (runs.stored.projectBytes)")
	require.NoError(t, f.guard().EnterRun(t.Context(), "large", ""))
	require.NoError(t, f.guard().EnterRun(t.Context(), "free", ""))
	require.Nil(t, f.row("free").MeasuredAt)
}

func TestConfigNamesWhatIsWrong(t *testing.T) {
	require.NoError(t, stored.DefaultConfig().Validate())
	config := stored.Config{ProjectBytes: -1, Projects: []stored.Project{{Project: "p", Bytes: -1}, {Project: "p"}, {Project: "a/b"}}, NearInterval: time.Hour}
	err := config.Validate()
	for _, words := range []string{
		"projectBytes: must not be negative, got -1", "projects[0].bytes: must not be negative", "projects[1].project: p has a limit already",
		"projects[2].project: a project", "interval: must be at least 1s", "nearInterval: must be from 1s to interval",
		"requestsPerSecond: must be from 1", "lease: must be at least 3s",
	} {
		require.ErrorContains(t, err, words)
	}
	var p stored.Project
	require.NoError(t, p.UnmarshalText([]byte("protein-folding bytes=5000")))
	require.Equal(t, stored.Project{Project: "protein-folding", Bytes: 5000}, p)
	require.ErrorContains(t, p.UnmarshalText([]byte("protein-folding")), "has a project and bytes")
	require.ErrorContains(t, p.UnmarshalText([]byte("p bytes=many")), `bytes of project p is a number, got "many"`)
}
