package rollups_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/runs/store/rollups"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/storetest"
)

// asked are the statements of a pool.
type asked struct{ all []pgx.TraceQueryStartData }

func (a *asked) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if strings.Contains(data.SQL, "FROM ") {
		a.all = append(a.all, data)
	}
	return ctx
}

func (a *asked) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// seeded has a million actions, divided by scale, in one place: 50 tasks and one run for ten actions, with their roll-ups, and 10,000
// further tasks.
func seeded(tb testing.TB, scale int) (*pgxpool.Pool, storetest.Config) {
	tb.Helper()
	return storetest.SeededWith(tb, scale, "rollups",
		`INSERT INTO use_rates (cluster, queue, accelerator) VALUES ('default', 'default', ''), ('default', 'gpu', 'nvidia-l4')`,
		`INSERT INTO task_days (project, domain, task, day, succeeded, failed, aborted, cache, durations)
			SELECT 'flytesnacks', 'development', 'env.task-' || t, '2026-01-01'::date + d, 600, 20, 3, '{200,100,5,0,0,0,0,0,0}', '\x0a64' FROM generate_series(0, 999) t, generate_series(0, 30) d`,
		`INSERT INTO use_days (project, domain, day, kind, name, rate, actions, cpu, memory, gpu)
			SELECT 'flytesnacks', 'development', '2026-01-01'::date + d, k, CASE WHEN k = 0 THEN '' ELSE 'env.task-' || t END, r, 300, t * 1000, 1000, 0
			FROM generate_series(0, 999) t, generate_series(0, 30) d, generate_series(0, 3) k, generate_series(1, 2) r WHERE k > 0 OR t = 0`,
		`INSERT INTO task_health (project, domain, task, last_at, outcomes, succeeded, failed, aborted, hits, misses, earlier, p50, p90, p50_before, p90_before,
				change_p50, change_p90, failure_rate, hit_rate, cpu, memory, gpu, weight, as_of, prices)
			SELECT 'flytesnacks', 'development', 'env.task-' || t, '2026-01-31'::timestamptz - t * interval '1 minute', '\x0501', 10, 1, 0, 1, 1, 5, t * 7919 % 1000, t, t, t,
				t * 7919 % 2000, t * 31 % 500, t % 1000, t % 999, t, t, 0, t * 104729 % 10000, '2026-01-31', 1 FROM generate_series(0, 9999) t`,
		`INSERT INTO run_use (run_id, project, domain, day, rates, cpu, memory, gpu, weight, prices)
			SELECT id, project, domain, created_at::date, '{1}', ARRAY[id], ARRAY[id], '{0}', id * 104729 % 100000, 1 FROM actions WHERE parent_name IS NULL`,
		`INSERT INTO run_tasks SELECT run_id, task_name, count(*) FILTER (WHERE phase = 5), count(*) FILTER (WHERE phase = 6), 0, 0, 1000, min(name)
			FROM actions WHERE ended_at IS NOT NULL GROUP BY 1, 2`,
		`VACUUM ANALYZE task_days`, `VACUUM ANALYZE use_days`, `VACUUM ANALYZE task_health`, `VACUUM ANALYZE run_use`, `VACUUM ANALYZE run_tasks`,
	)
}

type question struct {
	name, index string
	// rows is how many rows and entries of indexes a plan may go through.
	rows float64
	ask  func(ctx context.Context, s *rollups.Store) error
}

// questions are those of the console.
func questions(c storetest.Config) []question {
	scope := schema.Scope{Project: c.Project, Domain: c.Domain}
	end := rollups.Day(c.Start.Add(c.Span))
	task := rollups.Task{Scope: scope, Name: "env.task-7"}
	health := func(order rollups.Order, index string, text string) question {
		return question{"tasks by " + string(order) + text, index, 12_000, func(ctx context.Context, s *rollups.Store) error {
			page, next, err := s.ListHealth(ctx, rollups.Filter{Scope: scope, Order: order, Text: text})
			if err != nil || len(page) < 50 {
				return err
			}
			_, _, err = s.ListHealth(ctx, rollups.Filter{Scope: scope, Order: order, Text: text, Token: next})
			return err
		}}
	}
	return []question{
		health(rollups.ByLast, "task_health_last", ""), health(rollups.ByP50, "task_health_p50", ""), health(rollups.ByP90, "task_health_p90", ""),
		health(rollups.ByChangeP50, "task_health_change_p50", ""), health(rollups.ByChangeP90, "task_health_change_p90", ""),
		health(rollups.ByFailureRate, "task_health_failures", ""), health(rollups.ByHitRate, "task_health_hits", ""),
		health(rollups.ByWeight, "task_health_weight", ""), health(rollups.ByWeight, "", "task-77"),
		{"actions", "actions_task_ended", 3000, func(ctx context.Context, s *rollups.Store) error {
			_, _, err := s.ReadActions(ctx, rollups.TaskActions{Task: task, Limit: 50})
			return err
		}},
		{"actions of a version that never ran", "actions_task_ended", 6000, func(ctx context.Context, s *rollups.Store) error {
			_, _, err := s.ReadActions(ctx, rollups.TaskActions{Task: task, Version: "none", Limit: 50})
			return err
		}},
		{"grid", "actions_root_scope_task", 6000, func(ctx context.Context, s *rollups.Store) error {
			_, _, _, err := s.Grid(ctx, task, 30)
			return err
		}},
		{"cache", "task_days", 40_000, func(ctx context.Context, s *rollups.Store) error {
			_, err := s.CacheDays(ctx, scope, end.AddDate(0, 0, -6))
			return err
		}},
		{"days", "use_days_p", 1000, func(ctx context.Context, s *rollups.Store) error {
			_, err := s.SumDays(ctx, scope, end.AddDate(0, 0, -29), end)
			return err
		}},
		{"days of all projects", "use_days_p", 1000, func(ctx context.Context, s *rollups.Store) error {
			_, err := s.SumDays(ctx, schema.Scope{}, end.AddDate(0, 0, -29), end)
			return err
		}},
		// As many names as a place may have, which is a third of the rows: the planner may read all.
		{"owners of 30 days", "", 200_000, func(ctx context.Context, s *rollups.Store) error {
			_, err := s.SumNames(ctx, scope, rollups.OfOwner, end.AddDate(0, 0, -29), end)
			return err
		}},
		{"runs of 30 days", "run_use_top", 8000, func(ctx context.Context, s *rollups.Store) error {
			_, err := s.TopRuns(ctx, scope, end.AddDate(0, 0, -29), end, 100)
			return err
		}},
	}
}

// TestRollupsReadLittle: no question of the console scans the actions, all use an index, and what they go through does not grow with the actions.
func TestRollupsReadLittle(t *testing.T) {
	pool, config := seeded(t, 20)
	statements := &asked{}
	traced := pool.Config()
	traced.ConnConfig.Tracer = statements
	tracing, err := pgxpool.NewWithConfig(t.Context(), traced)
	require.NoError(t, err)
	t.Cleanup(tracing.Close)
	for _, q := range questions(config) {
		t.Run(q.name, func(t *testing.T) {
			statements.all = nil
			require.NoError(t, q.ask(t.Context(), rollups.New(tracing)))
			plans, through := "", 0.0
			for _, statement := range statements.all {
				rows, err := pool.Query(t.Context(), `EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF) `+statement.SQL, statement.Args...)
				require.NoError(t, err)
				lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
				require.NoError(t, err)
				plan := strings.Join(lines, "\n")
				plans += plan + "\n"
				through += storetest.GoneThrough(lines)
				require.NotContains(t, plan, "Seq Scan on actions", "%s\n%s", statement.SQL, plan)
			}
			if q.index != "" {
				require.Contains(t, plans, q.index, plans)
			}
			require.LessOrEqual(t, through, q.rows, plans)
		})
	}
}

// BenchmarkRollups measures the questions of the console; FLYTE_BENCH_SCALE=1 has a million actions.
func BenchmarkRollups(b *testing.B) {
	pool, config := seeded(b, storetest.SeedScale(b, 20))
	store := rollups.New(pool)
	for _, q := range questions(config) {
		b.Run(q.name, func(b *testing.B) {
			before, began := storetest.CPUOf(b, pool), time.Now()
			for b.Loop() {
				require.NoError(b, q.ask(b.Context(), store))
			}
			after := storetest.CPUOf(b, pool)
			b.ReportMetric(float64((after.Postgres-before.Postgres).Microseconds())/1000/float64(b.N), "Postgres-CPU-ms")
			b.ReportMetric(time.Since(began).Seconds()*1000/float64(b.N), "ms")
		})
	}
}
