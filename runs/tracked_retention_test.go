package runs_test

import (
	"context"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/blob/blobpath"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/retention"
)

// ended is a tracked run that has ended, with a child and data.
func (f *trackedFixture) ended(name string) (base string) {
	f.t.Helper()
	f.create(name)
	base = blobpath.TrackedRun(f.blobs.Root(), "flytesnacks", "development", name)
	for _, path := range []string{"a0/inputs.pb", "c/1/outputs.pb", "c/1/report.html"} {
		require.NoError(f.t, f.blobs.WriteAll(f.t.Context(), base+path, []byte("x")))
	}
	f.ok(name, f.update(name, "a0", 1, 0, running), f.first(name, "a0", "c", running), f.update(name, "c", 1, 1, succeeded),
		f.update(name, "a0", 1, 1, succeeded))
	return base
}

// keeper is a process that keeps the newest runs, without grace.
func (f *trackedFixture) keeper(runsToKeep int, deps runs.Deps) *retention.Keeper {
	f.t.Helper()
	config := retention.DefaultConfig()
	config.MaxRuns, config.Grace, config.Pause, config.Batch = runsToKeep, 0, 0, 2
	if deps.Blobs == nil {
		deps.Blobs = f.blobs
	}
	deps.Pool, deps.Tracked, deps.Logger = f.pool, f.own, zerolog.Nop()
	keeper, err := runs.NewRetention(config, deps)
	require.NoError(f.t, err)
	return keeper
}

func (f *trackedFixture) missing(name string) {
	f.t.Helper()
	_, err := f.tracked.GetRunDetails(f.t.Context(), &workflow.GetRunDetailsRequest{RunId: runID(name)})
	require.Equal(f.t, connect.CodeNotFound, connect.CodeOf(err), "%v", err)
	_, err = f.tracked.ReportActions(f.t.Context(), &workflow.ReportTrackedActionsRequest{
		RunId: runID(name), Updates: []*workflow.TrackedActionUpdate{f.update(name, "c", 1, 3, running)},
	})
	require.Equal(f.t, connect.CodeNotFound, connect.CodeOf(err), "a late report: %v", err)
}

func TestRetentionOfTrackedRuns(t *testing.T) {
	t.Parallel()
	f := newTrackedFixture(t)
	old := f.ended("local-old")
	kept := f.ended("local-kept")
	// A run of the installation with the name of a tracked one, and one more: the limit holds for each kind by itself.
	for _, name := range []string{"local-old", "other"} {
		_, err := f.runs.CreateRun(t.Context(), namedRun(name))
		require.NoError(t, err)
	}
	f.create("local-live")
	var forgotten []ident.Run
	keeper := f.keeper(2, runs.Deps{Retention: runs.Retention{RunDeleted: func(_ context.Context, run ident.Run) error {
		forgotten = append(forgotten, run)
		return nil
	}}})

	preview, err := keeper.Preview(t.Context(), 10)
	require.NoError(t, err)
	require.EqualValues(t, 1, preview.Runs)
	require.EqualValues(t, 2, preview.Actions)
	require.True(t, preview.First[0].Tracked)
	require.Equal(t, "local-old", preview.First[0].Run.Name)
	deleted, err := keeper.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, deleted)

	f.missing("local-old")
	require.NoDirExists(t, old)
	require.FileExists(t, kept+"c/1/outputs.pb")
	require.Equal(t, succeeded, f.phase("local-kept", "c"))
	require.Empty(t, forgotten, "the run of the installation with this name has not been deleted")
	require.Equal(t, 2, f.number(`SELECT count(*) FROM public.actions`))
	require.Equal(t, 3, f.number(`SELECT count(*) FROM tracked.actions`))
	require.Zero(t, f.number(`SELECT count(*) FROM tracked.action_events e WHERE NOT EXISTS (SELECT FROM tracked.actions a WHERE a.id = e.run_id)`))
	require.Zero(t, f.number(`SELECT count(*) FROM tracked.spec_candidates`))
	_, err = f.tracked.CreateRun(t.Context(), f.request("local-old"))
	refused(t, err, connect.CodeAborted, "its name can be used again in a few minutes")

	deleted, err = f.keeper(1, runs.Deps{}).Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, deleted)
	require.Equal(t, running, f.begin("local-live"), "a live run is never deleted")
}

// begin reports that the root of a run runs.
func (f *trackedFixture) begin(name string) common.ActionPhase {
	f.t.Helper()
	f.ok(name, f.update(name, "a0", 1, 0, running))
	return f.phase(name, "a0")
}

// The process died, the object store or the database failed in between: another process continues, even one whose limits
// would keep the run.
func TestAnInterruptedDeletionOfATrackedRunContinues(t *testing.T) {
	t.Parallel()
	f := newTrackedFixture(t)
	base := f.ended("local-old")
	f.ended("local-kept")
	blobs := &brokenBlobs{Blobs: f.blobs, broken: true}
	_, err := f.keeper(1, runs.Deps{Blobs: blobs}).Sweep(t.Context())
	require.ErrorContains(t, err, "the object store is unavailable")
	f.missing("local-old")
	require.FileExists(t, base+"c/1/outputs.pb")

	_, err = f.pool.Exec(t.Context(), `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
		CREATE TRIGGER fail BEFORE DELETE ON tracked.actions FOR EACH ROW EXECUTE FUNCTION fail()`)
	require.NoError(t, err)
	events := f.number(`SELECT count(*) FROM tracked.action_events`)
	_, err = f.keeper(9, runs.Deps{}).Sweep(t.Context())
	require.ErrorContains(t, err, "delete run flytesnacks/development/local-old")
	require.NoDirExists(t, base)
	require.Less(t, f.number(`SELECT count(*) FROM tracked.action_events`), events, "its events went, in portions")

	_, err = f.pool.Exec(t.Context(), `DROP TRIGGER fail ON tracked.actions`)
	require.NoError(t, err)
	_, err = f.keeper(9, runs.Deps{}).Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, f.number(`SELECT count(*) FROM tracked.actions`))
	require.Equal(t, 1, f.number(`SELECT count(*) FROM tracked.run_deletions WHERE rows_gone_at IS NOT NULL`))
}

// A run of either kind may have been started with inputs that are in the directory of a run of the other.
func TestInputsOfTheOtherKindAreKept(t *testing.T) {
	t.Parallel()
	f := newTrackedFixture(t)
	base := f.ended("local-1")
	_, err := f.runs.CreateRun(t.Context(), namedRun("user"))
	require.NoError(t, err)
	_, err = f.pool.Exec(t.Context(), `UPDATE public.actions SET input_uri = $1`, base+"a0")
	require.NoError(t, err)
	byAge := func() int {
		config := retention.DefaultConfig()
		config.MaxAge, config.Grace, config.Pause = time.Nanosecond, 0, 0
		keeper, err := runs.NewRetention(config, runs.Deps{Pool: f.pool, Tracked: f.own, Blobs: f.blobs, Logger: zerolog.Nop()})
		require.NoError(t, err)
		deleted, err := keeper.Sweep(t.Context())
		require.NoError(t, err)
		return deleted
	}
	require.Zero(t, byAge())
	_, err = f.pool.Exec(t.Context(), `UPDATE public.actions SET input_uri = '', phase = 5, ended_at = now() - interval '1 hour', created_at = now() - interval '2 hours';
		UPDATE tracked.actions SET input_uri = (SELECT run_output_base FROM public.actions) || 'inputs/x' WHERE parent_name IS NULL`)
	require.NoError(t, err)
	require.Equal(t, 1, byAge(), "the tracked run goes; the run of the installation was looked at before")
	require.Equal(t, 1, f.number(`SELECT count(*) FROM public.actions`))
	require.Equal(t, 1, byAge())
}

func TestTheServiceDeletesTrackedRuns(t *testing.T) {
	t.Parallel()
	limits := func(enabled bool) func(*runs.Config) {
		return func(config *runs.Config) {
			config.Retention.Enabled, config.Retention.MaxRuns, config.Retention.Grace = enabled, 1, 0
			config.Retention.Interval, config.Retention.Pause = 20*time.Millisecond, 0
		}
	}
	f := newTrackedFixture(t, limits(false))
	f.ended("local-1")
	f.ended("local-2")
	response, err := f.insight.PreviewRetention(t.Context(), &insightv1.PreviewRetentionRequest{})
	require.NoError(t, err)
	require.Len(t, response.GetRuns(), 1)
	require.Equal(t, trackedSource, response.GetRuns()[0].GetRunSource())

	trackedFixtureOn(t, f.pool, clock.System{}, limits(true))
	require.Eventually(t, func() bool {
		return f.number(`SELECT count(*) FROM tracked.run_deletions WHERE rows_gone_at IS NOT NULL`) == 1
	}, 2*time.Minute, 10*time.Millisecond)
	require.Equal(t, succeeded, f.phase("local-2", "a0"))
}
