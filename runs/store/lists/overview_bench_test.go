package lists_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// overviewSeeded adds to the rows of the lists what overviews also read: waiting conditions, tasks, and runs whose
// names have several words.
func overviewSeeded(tb testing.TB, scale int) (*pgxpool.Pool, storetest.Config) {
	tb.Helper()
	return storetest.SeededWith(tb, scale, "overviews",
		`INSERT INTO actions (id, run_id, project, domain, run_name, name, parent_name, action_type, phase, created_at, updated_at)
			SELECT nextval('actions_id_seq'), id, project, domain, run_name, 'ask', 'a0', 3, 9, created_at, updated_at
			FROM actions WHERE parent_name IS NULL AND id % 50 = 1`,
		`INSERT INTO tasks (project, domain, name, version, short_name, spec_digest, created_at, updated_at)
			SELECT 'flytesnacks', 'development', 'env.task-' || n, 'v1', 'task-' || n, '', now(), now() FROM generate_series(0, 9999) n`,
		`INSERT INTO actions (id, run_id, project, domain, run_name, name, action_type, phase, created_at, updated_at, ended_at)
			SELECT id, id, 'flytesnacks', 'development', 'nightly-train-' || id, 'a0', 1, 5, '2026-01-01', '2026-01-01', '2026-01-01'
			FROM (SELECT nextval('actions_id_seq') AS id FROM generate_series(1, 10000)) made`,
		// One task that ran as half of all children.
		`UPDATE actions SET task_name = 'env.hot', ended_at = created_at + (id % 60) * interval '1 second' WHERE id % 2 = 0 AND parent_name IS NOT NULL AND ended_at IS NOT NULL`,
		`VACUUM ANALYZE actions`, `VACUUM ANALYZE tasks`,
	)
}

// overviewCases are overviews as the console requests them.
func overviewCases(c storetest.Config) []listCase {
	scope := schema.Scope{Project: c.Project, Domain: c.Domain}
	end := c.Start.Add(c.Span)
	day := lists.Spans{From: end.Add(-24 * time.Hour), Step: time.Hour, Count: 24}
	week := lists.Spans{From: end.Add(-7 * 24 * time.Hour), Step: 7 * 24 * time.Hour / 50, Count: 50}
	all := lists.Spans{From: c.Start, Step: c.Span / 50, Count: 50}
	paused := func(name string, scope schema.Scope) listCase {
		return listCase{"paused/" + name, func(ctx context.Context, r *lists.Reader) error {
			_, _, _, err := r.ListPaused(ctx, scope, "", 100, "")
			return err
		}}
	}
	history := func(name string, task lists.TaskName, spans lists.Spans) listCase {
		return listCase{"history/" + name, func(ctx context.Context, r *lists.Reader) error {
			_, err := r.TaskHistory(ctx, task, spans)
			return err
		}}
	}
	activity := func(name string, spans lists.Spans) listCase {
		return listCase{"activity/" + name, func(ctx context.Context, r *lists.Reader) error {
			_, _, err := r.Activity(ctx, spans)
			return err
		}}
	}
	search := func(name, text string) listCase {
		return listCase{"search/" + name, func(ctx context.Context, r *lists.Reader) error {
			_, err := r.Search(ctx, text, 8)
			return err
		}}
	}
	task := lists.TaskName{Project: c.Project, Domain: c.Domain, Name: "env.task-7"}
	version, unknown := task, task
	version.Version, unknown.Name = "v57", "none"
	return []listCase{
		paused("everywhere", schema.Scope{}), paused("project", scope), paused("nowhere", schema.Scope{Project: "none", Domain: "none"}),
		history("week", task, week), history("all", task, all), history("version", version, all), history("unknown task", unknown, all),
		history("task of half of all", lists.TaskName{Project: c.Project, Domain: c.Domain, Name: "env.hot"}, all),
		activity("day", day), activity("week", week), activity("all", all),
		search("one letter", "r"), search("rare name", "r4321"), search("word of many", "train"), search("second word", "train-2"),
		search("task", "env.task-7"), search("nothing", "zzz"), search("label", "rare=yes"), search("common label", "team=t3"),
	}
}

// BenchmarkOverviews measures, in milliseconds, the overviews that the console requests.
func BenchmarkOverviews(b *testing.B) {
	pool, config := overviewSeeded(b, storetest.SeedScale(b, 20))
	reader := lists.NewReader(pool)
	measure(b, reader, overviewCases(config))
}
