package lists

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// TaskName names a task. An empty version means all versions.
type TaskName struct{ Project, Domain, Name, Version string }

// HistoryPart counts the actions of a task that ended in one span, by outcome.
type HistoryPart struct {
	Span                               int
	Succeeded, Failed, Aborted, Cached int64
	P50, P90                           *time.Duration // nil when none ran and succeeded
}

// TaskHistory counts the actions that ended since the first span. Durations run from the first start to the end and
// include retries. They count only actions that ran, not those that the cache or a recovery answered.
func (r *Reader) TaskHistory(ctx context.Context, task TaskName, spans Spans) ([]HistoryPart, error) {
	args := append(spans.args(), task.Project, task.Domain, task.Name)
	version := ""
	if task.Version != "" {
		args = append(args, task.Version)
		version = " AND a.task_version = $7"
	}
	sql := `SELECT ` + spans.number("a.ended_at", 1) + ` AS span,
			count(*) FILTER (WHERE a.phase IN ` + sqltext.GoodPhases + `), count(*) FILTER (WHERE a.phase IN ` + sqltext.FailedPhases + `), count(*) FILTER (WHERE a.phase = ` + sqltext.Aborted + `),
			count(*) FILTER (WHERE a.phase = ` + sqltext.Succeeded + ` AND a.cache_status = ` + sqltext.CacheHit + `),
			percentile_disc(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY extract(epoch FROM a.ended_at - a.started_at)::float8)
				FILTER (WHERE a.phase = ` + sqltext.Succeeded + ` AND a.cache_status <> ` + sqltext.CacheHit + ` AND a.started_at IS NOT NULL)
		FROM actions a
		WHERE a.action_type = ` + sqltext.Task + ` AND a.ended_at IS NOT NULL AND a.task_project = $4 AND a.task_domain = $5 AND a.task_name = $6
			AND a.ended_at >= $1` + version + ` GROUP BY 1 ORDER BY 1`
	rows, err := r.pool.Query(ctx, sql, append([]any{sqltext.Planned}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("read the history of task %s: %w", task.Name, err)
	}
	parts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (HistoryPart, error) {
		var p HistoryPart
		var seconds []float64
		err := row.Scan(&p.Span, &p.Succeeded, &p.Failed, &p.Aborted, &p.Cached, &seconds)
		if len(seconds) == 2 {
			p50, p90 := duration(seconds[0]), duration(seconds[1])
			p.P50, p.P90 = &p50, &p90
		}
		return p, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the history of task %s: %w", task.Name, err)
	}
	return parts, nil
}

// duration is never negative, even if a clock was set back between the two times.
func duration(seconds float64) time.Duration {
	return time.Duration(max(0, seconds) * float64(time.Second))
}
