package runs_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/jackc/pgx/v5"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	insightv1 "github.com/flyte-binary/flyte-binary/gen/flytebinary/insight/v1"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/common"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/task"
	"github.com/flyte-binary/flyte-binary/gen/flyteidl2/workflow"
	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs"
	"github.com/flyte-binary/flyte-binary/runs/retention"
)

// endedRun is a run with a child and blobs in its directory.
func (c *writeFixture) endedRun(name string) (base string) {
	c.t.Helper()
	request := namedRun(name)
	request.Task = &workflow.CreateRunRequest_TaskSpec{TaskSpec: taskSpec("main-" + name)}
	c.create(request)
	c.child(name, "a0", "c1")
	base = c.storage(name, "a0").GetRunOutputBase()
	require.NoError(c.t, c.blobs.WriteAll(c.t.Context(), base+"c1/1/outputs.pb", []byte("x")))
	require.NoError(c.t, c.blobs.WriteAll(c.t.Context(), base+"a0/1/_logs/main.log", []byte("x")))
	c.report(transition(name, "c1", 1, common.ActionPhase_ACTION_PHASE_SUCCEEDED), transition(name, "a0", 1, common.ActionPhase_ACTION_PHASE_SUCCEEDED))
	return base
}

func (c *writeFixture) keeper(change func(*retention.Config), deps runs.Deps) *retention.Keeper {
	c.t.Helper()
	config := retention.DefaultConfig()
	config.Grace, config.Pause, config.Batch = 0, 0, 2
	change(&config)
	if deps.Blobs == nil {
		deps.Blobs = c.blobs
	}
	deps.Pool, deps.Logger = c.pool, zerolog.Nop()
	keeper, err := runs.NewRetention(config, deps)
	require.NoError(c.t, err)
	return keeper
}

func (c *writeFixture) count(query string, args ...any) (n int) {
	c.t.Helper()
	require.NoError(c.t, c.pool.QueryRow(c.t.Context(), query, args...).Scan(&n))
	return n
}

// gone asserts that no one can see a run.
func (c *writeFixture) gone(name string) {
	c.t.Helper()
	ctx := c.t.Context()
	_, err := c.runs.GetRunDetails(ctx, &workflow.GetRunDetailsRequest{RunId: runID(name)})
	require.Equal(c.t, connect.CodeNotFound, connect.CodeOf(err), "%v", err)
	_, err = c.runs.ListActions(ctx, &workflow.ListActionsRequest{RunId: runID(name)})
	require.Equal(c.t, connect.CodeNotFound, connect.CodeOf(err), "%v", err)
	_, err = c.runs.GetActionDetails(ctx, &workflow.GetActionDetailsRequest{ActionId: actionID(name, "c1")})
	require.Equal(c.t, connect.CodeNotFound, connect.CodeOf(err), "%v", err)
	for _, watch := range []func() error{
		func() error {
			stream, err := c.runs.WatchActions(ctx, &workflow.WatchActionsRequest{RunId: runID(name)})
			return endOf(stream, err)
		},
		func() error {
			stream, err := c.runs.WatchRunDetails(ctx, &workflow.WatchRunDetailsRequest{RunId: runID(name)})
			return endOf(stream, err)
		},
		func() error {
			stream, err := c.runs.WatchActionDetails(ctx, &workflow.WatchActionDetailsRequest{ActionId: actionID(name, "c1")})
			return endOf(stream, err)
		},
	} {
		err := watch()
		require.Equal(c.t, connect.CodeNotFound, connect.CodeOf(err), "%v", err)
	}
	require.NotContains(c.t, c.names(), name)
}

func endOf[T any](stream *connect.ServerStreamForClient[T], err error) error {
	if err != nil {
		return err
	}
	for stream.Receive() {
	}
	_ = stream.Close()
	return stream.Err()
}

func (c *writeFixture) names() []string {
	c.t.Helper()
	response, err := c.runs.ListRuns(c.t.Context(), &workflow.ListRunsRequest{
		ScopeBy: &workflow.ListRunsRequest_ProjectId{ProjectId: &common.ProjectIdentifier{Name: "flytesnacks", Domain: "development"}},
	})
	require.NoError(c.t, err)
	names := []string{}
	for _, run := range response.GetRuns() {
		names = append(names, run.GetAction().GetId().GetRun().GetName())
	}
	return names
}

func TestRetentionKeepsTheNewestRuns(t *testing.T) {
	c := newWriteFixture(t, nil)
	old := c.endedRun("old")
	kept := c.endedRun("kept")
	c.create(namedRun("live"))
	var forgotten []ident.Run
	keeper := c.keeper(func(k *retention.Config) { k.MaxRuns = 2 }, runs.Deps{
		Retention: runs.Retention{RunDeleted: func(_ context.Context, run ident.Run) error { forgotten = append(forgotten, run); return nil }},
	})
	specs := c.count(`SELECT count(*) FROM specs`)

	preview, err := keeper.Preview(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, preview.First, 1)
	require.EqualValues(t, 1, preview.Runs)
	require.EqualValues(t, 2, preview.Actions)
	require.Equal(t, "there are 2 younger runs in flytesnacks/development", keeper.Reason(preview.First[0]))
	require.Contains(t, c.names(), "old", "a preview deletes nothing")

	deleted, err := keeper.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, deleted)
	c.gone("old")
	require.NoDirExists(t, old)
	require.FileExists(t, kept+"c1/1/outputs.pb")
	require.Equal(t, common.ActionPhase_ACTION_PHASE_SUCCEEDED, c.phase("kept", "c1"))
	require.Equal(t, []ident.Run{{Project: "flytesnacks", Domain: "development", Name: "old"}}, forgotten)
	require.Equal(t, 3, c.count(`SELECT count(*) FROM actions`))
	require.Zero(t, c.count(`SELECT count(*) FROM action_events e WHERE NOT EXISTS (SELECT FROM actions a WHERE a.id = e.run_id)`))
	require.Equal(t, specs-1, c.count(`SELECT count(*) FROM specs`), "its own spec is gone, that of the children is used")
	require.Zero(t, c.count(`SELECT count(*) FROM spec_candidates`))

	deleted, err = keeper.Sweep(t.Context())
	require.NoError(t, err)
	require.Zero(t, deleted)
}

func TestRetentionByAgeKeepsUnfinishedRuns(t *testing.T) {
	c := newWriteFixture(t, nil)
	c.endedRun("done")
	c.create(namedRun("live"))
	young := c.keeper(func(k *retention.Config) { k.MaxAge = time.Hour }, runs.Deps{})
	deleted, err := young.Sweep(t.Context())
	require.NoError(t, err)
	require.Zero(t, deleted)
	deleted, err = c.keeper(func(k *retention.Config) { k.MaxAge, k.Grace = time.Nanosecond, time.Hour }, runs.Deps{}).Sweep(t.Context())
	require.NoError(t, err)
	require.Zero(t, deleted, "it has just ended")
	deleted, err = c.keeper(func(k *retention.Config) { k.MaxAge = time.Nanosecond }, runs.Deps{}).Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, deleted)
	c.gone("done")
	require.Equal(t, []string{"live"}, c.names())
	require.Empty(t, c.report(transition("done", "c1", 1, common.ActionPhase_ACTION_PHASE_SUCCEEDED))[1:], "late reports are answered")
}

func TestRunsThatOthersUseAreKept(t *testing.T) {
	for name, use := range map[string]func(c *writeFixture, source string){
		"recovered outputs": func(c *writeFixture, source string) {
			_, err := c.pool.Exec(c.t.Context(), `UPDATE actions SET phase = 10, output_uri = $1 WHERE run_name = 'user' AND name = 'c1'`, source+"c1/1")
			require.NoError(c.t, err)
		},
		"cached outputs": func(c *writeFixture, source string) {
			_, err := c.pool.Exec(c.t.Context(), `UPDATE actions SET cache_status = 2, output_uri = $1 WHERE run_name = 'user' AND name = 'c1'`, source+"c1/1")
			require.NoError(c.t, err)
		},
		"inputs": func(c *writeFixture, source string) {
			_, err := c.pool.Exec(c.t.Context(), `UPDATE actions SET input_uri = $1 WHERE run_name = 'user' AND name = 'a0'`, source+"inputs/abc")
			require.NoError(c.t, err)
		},
		"recovers from it": func(c *writeFixture, _ string) {
			_, err := c.pool.Exec(c.t.Context(), `UPDATE actions SET relation_run = 'source', relation_type = 2 WHERE run_name = 'user' AND name = 'a0'`)
			require.NoError(c.t, err)
		},
		"lies within it": func(c *writeFixture, source string) {
			_, err := c.pool.Exec(c.t.Context(), `UPDATE actions SET run_output_base = $1 WHERE run_name = 'user' AND name = 'a0'`, source+"flytesnacks/development/user/")
			require.NoError(c.t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newWriteFixture(t, nil)
			source := c.endedRun("source")
			c.endedRun("user")
			use(c, source)
			keep := func(n int) int {
				deleted, err := c.keeper(func(k *retention.Config) { k.MaxRuns = n }, runs.Deps{}).Sweep(t.Context())
				require.NoError(t, err)
				return deleted
			}
			require.Zero(t, keep(1), "a kept run needs it")
			require.FileExists(t, source+"c1/1/outputs.pb")
			// A third run pushes both out: the one that used it goes first.
			c.endedRun("third")
			require.Equal(t, 2, keep(1))
			require.Equal(t, []string{"third"}, c.names())
		})
	}
}

// brokenBlobs fails until it is repaired.
type brokenBlobs struct {
	runs.Blobs
	broken bool
}

func (b *brokenBlobs) DeletePrefix(ctx context.Context, uri string) error {
	if b.broken {
		return fmt.Errorf("the object store is unavailable")
	}
	return b.Blobs.DeletePrefix(ctx, uri)
}

func TestAnInterruptedDeletionContinues(t *testing.T) {
	c := newWriteFixture(t, nil)
	base := c.endedRun("old")
	c.endedRun("kept")
	blobs := &brokenBlobs{Blobs: c.blobs, broken: true}
	keeper := c.keeper(func(k *retention.Config) { k.MaxRuns = 1 }, runs.Deps{Blobs: blobs})
	_, err := keeper.Sweep(t.Context())
	require.ErrorContains(t, err, "the object store is unavailable")
	c.gone("old")
	require.FileExists(t, base+"c1/1/outputs.pb")
	_, err = c.runs.CreateRun(t.Context(), namedRun("old"))
	refused(t, err, connect.CodeAborted, "its name can be used again in a few minutes")

	blobs.broken = false
	_, err = c.pool.Exec(t.Context(), `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
		CREATE TRIGGER fail BEFORE DELETE ON actions FOR EACH ROW EXECUTE FUNCTION fail()`)
	require.NoError(t, err)
	_, err = keeper.Sweep(t.Context())
	require.ErrorContains(t, err, "delete run flytesnacks/development/old")
	_, err = os.Stat(base)
	require.ErrorIs(t, err, os.ErrNotExist)

	_, err = c.pool.Exec(t.Context(), `DROP TRIGGER fail ON actions`)
	require.NoError(t, err)
	_, err = keeper.Sweep(t.Context())
	require.NoError(t, err)
	require.Zero(t, c.count(`SELECT count(*) FROM actions WHERE run_name = 'old'`))
	_, err = c.pool.Exec(t.Context(), `UPDATE run_deletions SET rows_gone_at = rows_gone_at - interval '1 hour'`)
	require.NoError(t, err)
	_, err = keeper.Sweep(t.Context())
	require.NoError(t, err)
	c.create(namedRun("old"))
}

// TestSpecsAreStoredAgain is the race of a sweep with a writer that caches which specs are stored.
func TestSpecsAreStoredAgain(t *testing.T) {
	c := newWriteFixture(t, nil)
	keeper := c.keeper(func(k *retention.Config) { k.MaxAge = time.Nanosecond }, runs.Deps{})
	for i := range 3 {
		name := fmt.Sprint("r", i)
		c.create(namedRun(name))
		require.Equal(t, "main", c.details(name, "a0").GetTask().GetShortName(), "its spec is stored")
		c.report(transition(name, "a0", 1, common.ActionPhase_ACTION_PHASE_SUCCEEDED))
		_, err := keeper.Sweep(t.Context())
		require.NoError(t, err)
		require.Zero(t, c.count(`SELECT count(*) FROM specs`))
	}
}

// TestSpecsSurviveSweepsUnderLoad creates and deletes runs of the same few specs at the same time.
func TestSpecsSurviveSweepsUnderLoad(t *testing.T) {
	c := newWriteFixture(t, nil)
	keeper := c.keeper(func(k *retention.Config) { k.MaxAge = time.Nanosecond }, runs.Deps{})
	done := make(chan struct{})
	swept := make(chan error, 1)
	go func() {
		for {
			select {
			case <-done:
				swept <- nil
				return
			default:
				if _, err := keeper.Sweep(t.Context()); err != nil {
					swept <- err
					return
				}
			}
		}
	}()
	for i := range 60 {
		name := fmt.Sprint("r", i)
		c.create(namedRun(name))
		c.child(name, "a0", "c1")
		require.Equal(t, "main", c.details(name, "a0").GetTask().GetShortName())
		require.Equal(t, "child", c.details(name, "c1").GetTask().GetShortName())
		c.report(transition(name, "a0", 1, common.ActionPhase_ACTION_PHASE_SUCCEEDED))
	}
	close(done)
	require.NoError(t, <-swept)
	require.Zero(t, c.count(`SELECT count(*) FROM actions a WHERE spec_digest IS NOT NULL
		AND NOT EXISTS (SELECT FROM specs s WHERE s.digest = a.spec_digest)`))
}

// TestRetentionKnowsTheSchema fails when a column refers to specs or runs that retention does not know.
func TestRetentionKnowsTheSchema(t *testing.T) {
	c := newWriteFixture(t, nil)
	rows, err := c.pool.Query(t.Context(), `SELECT table_name || '.' || column_name FROM information_schema.columns
		WHERE table_schema = 'public' AND (column_name LIKE '%spec_digest%' OR column_name IN ('run_id', 'action_id'))
		ORDER BY 1`)
	require.NoError(t, err)
	columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{
		"action_events.action_id", "action_events.run_id",
		"action_states.action_id", // deleted by the database with their action
		"actions.run_id", "actions.run_spec_digest", "actions.spec_digest",
		"artifact_uses.run_id",                                        // deleted when the run is hidden
		"attempt_usage.action_id",                                     // deleted by the database with their action
		"built_images.action_id",                                      // stays: the image outlives the run that built it
		"condition_assignees.action_id",                               // deleted by the database with their action
		"event_backlog.run_id",                                        // deleted when the events are published, or counted as a gap
		"notification_outbox.action_id", "notification_outbox.run_id", // deleted when their deliveries are stored
		"placements.action_id",                                  // deleted by the database with their action
		"problem_failures.action_id", "problem_failures.run_id", // deleted by the database with their action
		"produced_outputs.action_id", "produced_outputs.run_id", // they keep the run
		"reserved_keys.action_id", "reserved_keys.run_id", // deleted by runs/cachelink after their action
		"run_deletions.run_id",
		"run_tasks.run_id", "run_use.run_id", // deleted by the database with their run
		"tasks.spec_digest",
		"uncounted_ends.action_id",                        // taken when it is counted, also without its action
		"uncounted_failures.action_id",                    // deleted by the database with their action
		"unread_inputs.action_id", "unread_inputs.run_id", // deleted when the run is hidden
		"webhooks.action_id", "webhooks.run_id",
	}, columns, "retention has to delete such rows, or to spare such specs: see isUnused and DeleteRows of runs/store")
}

func TestPreviewRetention(t *testing.T) {
	c := newWriteFixture(t, func(config *runs.Config) { config.Retention.MaxRuns, config.Retention.Grace = 1, 0 })
	c.endedRun("first")
	c.endedRun("second")
	response, err := c.insight.PreviewRetention(t.Context(), &insightv1.PreviewRetentionRequest{})
	require.NoError(t, err)
	require.False(t, response.GetEnabled())
	require.EqualValues(t, 1, response.GetTotalRuns())
	require.EqualValues(t, 2, response.GetTotalActions())
	require.Equal(t, "first", response.GetRuns()[0].GetRunId().GetName())
	require.NotNil(t, response.GetRuns()[0].GetEndedAt())
	require.Equal(t, "there are 1 younger runs in flytesnacks/development", response.GetRuns()[0].GetReason())
}

func TestTheLoopDeletesUnderItsLease(t *testing.T) {
	c := newWriteFixture(t, func(config *runs.Config) {
		config.Retention.Enabled, config.Retention.MaxRuns, config.Retention.Grace = true, 1, 0
		config.Retention.Interval, config.Retention.Pause = 20*time.Millisecond, 0
	})
	c.endedRun("old")
	_, err := c.pool.Exec(t.Context(), `INSERT INTO action_states SELECT id, '{}', now() FROM actions`)
	require.NoError(t, err)
	c.endedRun("kept")
	require.Eventually(t, func() bool {
		return c.count(`SELECT count(*) FROM actions WHERE run_name = 'old'`) == 0
	}, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, []string{"kept"}, c.names())
	require.Zero(t, c.count(`SELECT count(*) FROM action_states`))
}

// The creator of a run chooses its name and its base directory, and must not choose with them what retention deletes.
func TestRetentionDeletesOnlyWhatHasTheRunsMark(t *testing.T) {
	c := newWriteFixture(t, nil)
	root := c.blobs.Root()
	place := root + "/_team/flytesnacks/development/"
	inputs, users := place+"offloaded-inputs/digest/inputs.pb", place+"mine/model.bin"
	for _, uri := range []string{inputs, users} {
		require.NoError(t, c.blobs.WriteAll(t.Context(), uri, []byte("x")))
	}
	for _, name := range []string{"offloaded-inputs", "mine"} {
		request := namedRun(name)
		request.RunSpec = &task.RunSpec{RunBaseDir: root + "/_team"}
		c.create(request)
		c.report(transition(name, "a0", 1, common.ActionPhase_ACTION_PHASE_SUCCEEDED))
	}
	request := namedRun("x")
	request.RunSpec = &task.RunSpec{RunBaseDir: root + "/uploads"}
	_, err := c.runs.CreateRun(t.Context(), request)
	refused(t, err, connect.CodeInvalidArgument, "run_spec.run_base_dir")

	deleted, err := c.keeper(func(k *retention.Config) { k.MaxAge = time.Nanosecond }, runs.Deps{}).Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, deleted)
	require.FileExists(t, inputs)
	require.FileExists(t, users)
	left, err := os.ReadDir(place)
	require.NoError(t, err)
	require.Len(t, left, 2, "the directories of the runs are gone")
}

// Runs from before directories had marks are deleted with their directories, unless these are where uploads are.
func TestRetentionOfRunsWithoutAMark(t *testing.T) {
	for base, gone := range map[string]bool{
		"/flytesnacks/development/old/":              true,
		"/team/flytesnacks/development/old/":         true,
		"/uploads/flytesnacks/development/old/":      false,
		"/uploads/team/flytesnacks/development/old/": false,
		"/flytesnacks/development/other/":            false,
		"/flytesnacks/development/old.other/":        false,
	} {
		c := newWriteFixture(t, nil)
		c.endedRun("old")
		base = c.blobs.Root() + base
		_, err := c.pool.Exec(t.Context(), `UPDATE actions SET run_output_base = $1 WHERE run_name = 'old' AND name = 'a0'`, base)
		require.NoError(t, err)
		require.NoError(t, c.blobs.WriteAll(t.Context(), base+"a0/1/outputs.pb", []byte("x")))
		deleted, err := c.keeper(func(k *retention.Config) { k.MaxAge = time.Nanosecond }, runs.Deps{}).Sweep(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, deleted)
		if gone {
			require.NoDirExists(t, base)
		} else {
			require.FileExists(t, base+"a0/1/outputs.pb")
		}
	}
}
