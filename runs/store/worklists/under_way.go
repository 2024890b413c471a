package worklists

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// UnderWay is what a project has under way, counted up to a limit.
type UnderWay struct {
	// WaitingRuns is the runs whose root action is not running yet, Actions the actions that have not ended.
	WaitingRuns, Actions int
}

// isUnfinishedRoot is the predicate of the index that leads to the runs of a project that are under way.
const isUnfinishedRoot = `a.parent_name IS NULL AND a.ended_at IS NULL`

const underWay = `SELECT
	(SELECT count(*) FROM (SELECT 1 FROM actions a
		WHERE a.project = $1 AND ` + isUnfinishedRoot + ` AND a.phase < ` + sqltext.Running + ` LIMIT $2) AS w),
	(SELECT count(*) FROM (SELECT 1 FROM actions a JOIN actions c ON c.run_id = a.id AND c.ended_at IS NULL
		WHERE a.project = $1 AND ` + isUnfinishedRoot + ` LIMIT $3) AS u)`

const underWayOf = `SELECT count(*) FROM (SELECT 1 FROM actions a JOIN actions c ON c.run_id = a.id AND c.ended_at IS NULL
	WHERE a.created_by_subject = $1 AND ` + isUnfinishedRoot + ` LIMIT $2) AS u`

// UnderWayOf counts the unfinished actions in runs that a caller has created, up to a number. It reads all unfinished runs.
func (q *QueueReader) UnderWayOf(ctx context.Context, caller string, actions int) (UnderWay, error) {
	var found UnderWay
	err := q.send(ctx, func(statements *pgx.Batch) {
		statements.Queue(underWayOf, caller, actions).QueryRow(func(row pgx.Row) error { return row.Scan(&found.Actions) })
	})
	if err != nil {
		return UnderWay{}, fmt.Errorf("count what the runs of %s have under way: %w", caller, err)
	}
	return found, nil
}

// UnderWay counts what a project has under way, up to the given numbers; 0 means that it is not counted.
func (q *QueueReader) UnderWay(ctx context.Context, project string, runs, actions int) (UnderWay, error) {
	var found UnderWay
	err := q.send(ctx, func(statements *pgx.Batch) {
		statements.Queue(underWay, project, runs, actions).QueryRow(func(row pgx.Row) error {
			return row.Scan(&found.WaitingRuns, &found.Actions)
		})
	})
	if err != nil {
		return UnderWay{}, fmt.Errorf("count what project %s has under way: %w", project, err)
	}
	return found, nil
}
