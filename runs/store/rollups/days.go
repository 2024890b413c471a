package rollups

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// TaskDay is how the actions of a task ended on a day.
type TaskDay struct {
	Task
	Day                        time.Time
	Succeeded, Failed, Aborted int32
	Cache                      []int32
	Durations                  []byte
}

func scanDay(row pgx.CollectableRow) (d TaskDay, err error) {
	return d, row.Scan(&d.Project, &d.Domain, &d.Name, &d.Day, &d.Succeeded, &d.Failed, &d.Aborted, &d.Cache, &d.Durations)
}

const dayColumns = `d.project, d.domain, d.task, d.day, d.succeeded, d.failed, d.aborted, d.cache, d.durations`

func dayKeys(days []TaskDay) []any {
	return []any{
		sqltext.Column(days, func(d TaskDay) string { return d.Project }), sqltext.Column(days, func(d TaskDay) string { return d.Domain }),
		sqltext.Column(days, func(d TaskDay) string { return d.Name }), sqltext.Column(days, func(d TaskDay) time.Time { return d.Day }),
	}
}

// saveDays adds to the days of tasks.
func saveDays(ctx context.Context, tx pgx.Tx, days []TaskDay, sums Sums) error {
	rows, err := tx.Query(ctx, `SELECT `+dayColumns+` FROM task_days d JOIN unnest($1::text[], $2::text[], $3::text[], $4::date[]) AS u (p, m, t, d)
		ON d.project = u.p AND d.domain = u.m AND d.task = u.t AND d.day = u.d`, dayKeys(days)...)
	if err != nil {
		return err
	}
	stored, err := pgx.CollectRows(rows, scanDay)
	if err != nil {
		return err
	}
	type key struct {
		task Task
		day  int64
	}
	before := make(map[key]*TaskDay, len(stored))
	for i := range stored {
		before[key{stored[i].Task, stored[i].Day.Unix()}] = &stored[i]
	}
	for i := range days {
		d := &days[i]
		had := before[key{d.Task, d.Day.Unix()}]
		if had == nil {
			continue
		}
		d.Succeeded, d.Failed, d.Aborted = d.Succeeded+had.Succeeded, d.Failed+had.Failed, d.Aborted+had.Aborted
		for n, count := range had.Cache {
			if n < len(d.Cache) {
				d.Cache[n] += count
			}
		}
		if d.Durations, err = sums.Merge(had.Durations, d.Durations); err != nil {
			return err
		}
	}
	var statements pgx.Batch
	for i := range days {
		d := &days[i]
		statements.Queue(`INSERT INTO task_days (project, domain, task, day, succeeded, failed, aborted, cache, durations) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
			ON CONFLICT (project, domain, task, day) DO UPDATE SET succeeded = EXCLUDED.succeeded, failed = EXCLUDED.failed, aborted = EXCLUDED.aborted,
				cache = EXCLUDED.cache, durations = EXCLUDED.durations`,
			d.Project, d.Domain, d.Name, d.Day, d.Succeeded, d.Failed, d.Aborted, d.Cache, d.Durations)
	}
	return tx.SendBatch(ctx, &statements).Close()
}

// RunTask is how the actions of a task of a run ended.
type RunTask struct {
	RunID                              int64
	Task                               string
	Succeeded, Failed, Aborted, Cached int32
	Ran                                time.Duration
	Name                               string // of the first that failed, otherwise of the first that ended
}

// saveRunTasks adds to the tasks of runs.
func saveRunTasks(ctx context.Context, tx pgx.Tx, tasks []RunTask) error {
	_, err := tx.Exec(ctx, `
		INSERT INTO run_tasks AS had (run_id, task, succeeded, failed, aborted, cached, ran, name)
		SELECT * FROM unnest($1::bigint[], $2::text[], $3::integer[], $4::integer[], $5::integer[], $6::integer[], $7::bigint[], $8::text[])
		ON CONFLICT (run_id, task) DO UPDATE SET succeeded = had.succeeded + EXCLUDED.succeeded, failed = had.failed + EXCLUDED.failed,
			aborted = had.aborted + EXCLUDED.aborted, cached = had.cached + EXCLUDED.cached, ran = had.ran + EXCLUDED.ran,
			name = CASE WHEN had.failed = 0 AND EXCLUDED.failed > 0 THEN EXCLUDED.name ELSE had.name END`,
		sqltext.Column(tasks, func(t RunTask) int64 { return t.RunID }), sqltext.Column(tasks, func(t RunTask) string { return t.Task }),
		sqltext.Column(tasks, func(t RunTask) int32 { return t.Succeeded }), sqltext.Column(tasks, func(t RunTask) int32 { return t.Failed }),
		sqltext.Column(tasks, func(t RunTask) int32 { return t.Aborted }), sqltext.Column(tasks, func(t RunTask) int32 { return t.Cached }),
		sqltext.Column(tasks, func(t RunTask) int64 { return t.Ran.Milliseconds() }), sqltext.Column(tasks, func(t RunTask) string { return t.Name }))
	return err
}
