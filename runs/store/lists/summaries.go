package lists

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// RunSummary is how far a run is.
type RunSummary struct {
	ID        int64
	Name      string
	Phase     int16
	TaskName  string
	StartedAt *time.Time
	Ended     bool
	// Counts is the number of actions by phase; nil if a version wrote the run last that does not count.
	Counts []int32
}

// Usual is how long the latest runs of a task took that ran and succeeded.
type Usual struct {
	P50, P90 time.Duration
	Runs     int
}

// latestOfTask is how many of the latest runs of a task are looked at to say how long they take.
const latestOfTask = "100"

// RunSummaries reads runs of a place by their names, and what is usual for the tasks of those that have not ended. It leaves out runs
// that do not exist. It reads no action but roots. For
// BETWEEN, see folded.
func (r *Reader) RunSummaries(ctx context.Context, place schema.Scope, names []string) (runs []RunSummary, usual map[string]Usual, err error) {
	const summaries = `
		SELECT a.id, a.run_name, a.phase, a.task_name, a.started_at, a.ended_at IS NOT NULL, CASE WHEN a.counted_seq = a.last_seq THEN a.phase_counts END
		FROM unnest($3::text[]) AS k (name) CROSS JOIN LATERAL (
			SELECT * FROM actions WHERE project = $1 AND domain = $2 AND run_name BETWEEN k.name AND k.name AND parent_name IS NULL
			ORDER BY run_name LIMIT 1) AS a`
	const durations = `
		SELECT k.name, count(*), percentile_disc(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY extract(epoch FROM d.ended_at - d.started_at)::float8)
		FROM unnest($3::text[]) AS k (name) CROSS JOIN LATERAL (
			SELECT a.phase, a.started_at, a.ended_at, a.cache_status FROM actions a
			WHERE a.project = $1 AND a.domain = $2 AND a.task_name BETWEEN k.name AND k.name AND a.parent_name IS NULL
			ORDER BY a.task_name DESC, a.created_at DESC, a.id DESC LIMIT ` + latestOfTask + `) AS d
		WHERE d.phase = ` + sqltext.Succeeded + ` AND d.cache_status <> ` + sqltext.CacheHit + ` AND d.started_at IS NOT NULL GROUP BY 1`
	err = sqltext.Snapshot(ctx, r.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqltext.Planning); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, summaries, sqltext.Planned, place.Project, place.Domain, names)
		if err != nil {
			return err
		}
		if runs, err = pgx.CollectRows(rows, pgx.RowToStructByPos[RunSummary]); err != nil {
			return err
		}
		usual = map[string]Usual{}
		tasks := unfinishedTasks(runs)
		if len(tasks) == 0 {
			return nil
		}
		if rows, err = tx.Query(ctx, durations, sqltext.Planned, place.Project, place.Domain, tasks); err != nil {
			return err
		}
		var task string
		var u Usual
		var seconds []float64
		_, err = pgx.ForEachRow(rows, []any{&task, &u.Runs, &seconds}, func() error {
			u.P50, u.P90 = duration(seconds[0]), duration(seconds[1])
			usual[task] = u
			return nil
		})
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("summarize runs: %w", err)
	}
	return runs, usual, nil
}

// unfinishedTasks are the tasks of the runs that have not ended, each once.
func unfinishedTasks(runs []RunSummary) []string {
	var tasks []string
	seen := map[string]bool{"": true}
	for i := range runs {
		if task := runs[i].TaskName; !seen[task] && !runs[i].Ended {
			seen[task] = true
			tasks = append(tasks, task)
		}
	}
	return tasks
}
