package lists

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// Spans are equal spans of time, one after the other.
type Spans struct {
	From  time.Time
	Step  time.Duration
	Count int
}

// number is the SQL expression for the index of the span that contains a column's time, with Spans as three
// parameters starting at $first. A time after the last span, which another clock may have written, counts in the last
// span.
func (s Spans) number(column string, first int) string {
	return fmt.Sprintf(`least(floor(extract(epoch FROM %s - $%d::timestamptz)::float8 / $%d::float8)::int, $%d::int - 1)`, column, first, first+1, first+2)
}

func (s Spans) args() []any { return []any{s.From, s.Step.Seconds(), s.Count} }

// ActivityPart counts the runs of a project and domain that were created in one span, by outcome.
type ActivityPart struct {
	Project, Domain                        string
	Span                                   int
	Succeeded, Failed, Aborted, Unfinished int64
	LastRunAt                              time.Time
}

// UnfinishedRuns counts the unfinished runs of a project and domain, whenever they were created.
type UnfinishedRuns struct {
	Project, Domain string
	Running, Paused int64
	LastRunAt       time.Time
}

// Activity counts the runs since the first span by project, domain and span, and the unfinished runs.
func (r *Reader) Activity(ctx context.Context, spans Spans) (parts []ActivityPart, unfinished []UnfinishedRuns, err error) {
	within, args := sqltext.WithinScope(ctx, spans.args())
	counts := `SELECT a.project, a.domain, ` + spans.number("a.created_at", 1) + ` AS span,
			count(*) FILTER (WHERE a.phase IN ` + sqltext.GoodPhases + `), count(*) FILTER (WHERE a.phase IN ` + sqltext.FailedPhases + `), count(*) FILTER (WHERE a.phase = ` + sqltext.Aborted + `),
			count(*) FILTER (WHERE a.phase NOT IN ` + sqltext.TerminalPhases + `), max(a.created_at)
		FROM (SELECT a.project, a.domain, a.phase, a.created_at FROM actions a WHERE a.parent_name IS NULL AND a.created_at >= $1` + within + `
			ORDER BY a.created_at, a.id OFFSET 0) a -- the order that only the right index has
		GROUP BY 1, 2, 3`
	within, alone := sqltext.WithinScope(ctx, nil)
	underWay := `SELECT a.project, a.domain, count(*), count(*) FILTER (WHERE a.paused_count > 0), max(a.created_at)
		FROM actions a WHERE a.parent_name IS NULL AND a.ended_at IS NULL` + within + ` GROUP BY 1, 2`
	err = sqltext.Snapshot(ctx, r.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqltext.Planning); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, counts, sqltext.WithPlan(args)...)
		if err != nil {
			return err
		}
		if parts, err = pgx.CollectRows(rows, pgx.RowToStructByPos[ActivityPart]); err != nil {
			return err
		}
		if rows, err = tx.Query(ctx, underWay, sqltext.WithPlan(alone)...); err != nil {
			return err
		}
		unfinished, err = pgx.CollectRows(rows, pgx.RowToStructByPos[UnfinishedRuns])
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read activity: %w", err)
	}
	return parts, unfinished, nil
}
