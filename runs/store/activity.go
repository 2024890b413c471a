package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Spans are equal spans of time, one after the other.
type Spans struct {
	From  time.Time
	Step  time.Duration
	Count int
}

// number is the SQL expression of the span that a column lies in, for Spans as three parameters from $first on. What
// came after the last span, by another clock, belongs to it.
func (s Spans) number(column string, first int) string {
	return fmt.Sprintf(`least(floor(extract(epoch FROM %s - $%d::timestamptz)::float8 / $%d::float8)::int, $%d::int - 1)`, column, first, first+1, first+2)
}

func (s Spans) args() []any { return []any{s.From, s.Step.Seconds(), s.Count} }

// ActivityPart is how the runs of a project and domain went that were created in one span of time.
type ActivityPart struct {
	Project, Domain                        string
	Span                                   int
	Succeeded, Failed, Aborted, Unfinished int64
	LastRunAt                              time.Time
}

// UnfinishedRuns is what is under way in a project and domain, whenever it was created.
type UnfinishedRuns struct {
	Project, Domain string
	Running, Paused int64
	LastRunAt       time.Time
}

// Activity counts the runs since the first span by project, domain and span, and those that are under way.
func (r *Reader) Activity(ctx context.Context, spans Spans) (parts []ActivityPart, unfinished []UnfinishedRuns, err error) {
	counts := `SELECT a.project, a.domain, ` + spans.number("a.created_at", 1) + ` AS span,
			count(*) FILTER (WHERE a.phase IN (5, 10)), count(*) FILTER (WHERE a.phase IN (6, 8)), count(*) FILTER (WHERE a.phase = 7),
			count(*) FILTER (WHERE a.phase NOT IN (5, 6, 7, 8, 10)), max(a.created_at)
		FROM (SELECT a.project, a.domain, a.phase, a.created_at FROM actions a WHERE a.parent_name IS NULL AND a.created_at >= $1
			ORDER BY a.created_at, a.id OFFSET 0) a -- the order that only the right index has
		GROUP BY 1, 2, 3`
	const underWay = `SELECT a.project, a.domain, count(*), count(*) FILTER (WHERE a.paused_count > 0), max(a.created_at)
		FROM actions a WHERE a.parent_name IS NULL AND a.ended_at IS NULL GROUP BY 1, 2`
	err = r.snapshot(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, planning); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, counts, append([]any{planned}, spans.args()...)...)
		if err != nil {
			return err
		}
		if parts, err = pgx.CollectRows(rows, pgx.RowToStructByPos[ActivityPart]); err != nil {
			return err
		}
		if rows, err = tx.Query(ctx, underWay, planned); err != nil {
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
