package watches

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/store/lists"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Change is an action that changed, with its row as read together with the log. The row may be newer than Seq, never
// older.
type Change struct {
	// Seq is the last event of the action in the part of the log that was read.
	Seq int64
	// Row is shared between readers and must not be modified.
	Row *lists.Listed
}

// Changes reads up to limit events of a run after a position in its log, and the rows of the actions that they
// concern, in one statement, so that both are from the same snapshot. It returns the changes in Seq order, the
// position up to which it read the log, and whether there may be more.
func (w *Reader) Changes(ctx context.Context, runID, after int64, limit int) ([]Change, int64, bool, error) {
	const query = `
		WITH part AS MATERIALIZED (
			SELECT seq, action_id FROM action_events WHERE run_id = $1 AND seq > $2 ORDER BY seq LIMIT $3
		), latest AS MATERIALIZED (
			SELECT action_id, max(seq) AS seq FROM part GROUP BY action_id
		)
		SELECT latest.seq, (SELECT max(seq) FROM part), (SELECT count(*) FROM part), ` + watchedColumns + `
		FROM latest JOIN actions a ON a.id = latest.action_id` + conditionSpecs + `
		ORDER BY latest.seq`
	rows, err := w.pool.Query(ctx, query, runID, after, limit)
	if err != nil {
		return nil, after, false, fmt.Errorf("read changes of run %d: %w", runID, err)
	}
	var changes []Change
	var read int
	upTo := after
	for rows.Next() {
		change := Change{Row: &lists.Listed{}}
		if err := rows.Scan(append([]any{&change.Seq, &upTo, &read}, watchedTargets(change.Row)...)...); err != nil {
			rows.Close()
			return nil, after, false, fmt.Errorf("read changes of run %d: %w", runID, err)
		}
		changes = append(changes, change)
	}
	if err := rows.Err(); err != nil {
		return nil, after, false, fmt.Errorf("read changes of run %d: %w", runID, err)
	}
	return changes, upTo, read == limit, nil
}

// Children reads the direct children of an action that changed after a position in the run's log, in id order, after
// the id of a child. It fills in only the fields of an ActionUpdate: ID, Name, ActionType, Phase, Attempt, LastSeq,
// OutputURI, Error and Signal.
func (w *Reader) Children(ctx context.Context, runID int64, parent string, since, afterID int64, limit int) ([]*schema.Action, error) {
	const query = `
		SELECT id, name, action_type, phase, attempt, last_seq, output_uri, error, signal FROM actions
		WHERE run_id = $1 AND parent_name = $2 AND id > $3 AND last_seq > $4
		ORDER BY id LIMIT $5`
	rows, err := w.pool.Query(ctx, query, runID, parent, afterID, since, limit)
	if err != nil {
		return nil, fmt.Errorf("read children of %s: %w", parent, err)
	}
	children, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*schema.Action, error) {
		a := &schema.Action{RunID: runID, ParentName: &parent}
		return a, row.Scan(&a.ID, &a.Name, &a.ActionType, &a.Phase, &a.Attempt, &a.LastSeq, &a.OutputURI, &a.Error, &a.Signal)
	})
	if err != nil {
		return nil, fmt.Errorf("read children of %s: %w", parent, err)
	}
	return children, nil
}

// walkRun precedes the read of a page of a run. For a young run the statistics are incomplete, and the planner would
// sort the whole run for each page. This setting, sent in the same round trip, makes it walk the index.
const walkRun = `SELECT set_config('enable_sort', 'off', true), set_config('enable_bitmapscan', 'off', true)`

// RunActions reads the actions of a run that changed after a position in its log, in listing order, after a key. The
// fields that say how they ended are not filled in.
func (w *Reader) RunActions(ctx context.Context, runID, since int64, after ActionKey, limit int) ([]*lists.Listed, error) {
	const query = `
		SELECT ` + lists.ListedColumns + `, s.body FROM actions a` + conditionSpecs + `
		WHERE a.run_id = $1 AND (a.created_at, a.id) > ($2, $3) AND a.last_seq > $4
		ORDER BY a.created_at, a.id LIMIT $5`
	var actions []*lists.Listed
	var batch pgx.Batch // one transaction, which is what the settings are local to
	batch.Queue(walkRun)
	batch.Queue(query, runID, after.CreatedAt, after.ID, since, limit).Query(func(rows pgx.Rows) (err error) {
		actions, err = collectListed(rows)
		return err
	})
	if err := w.pool.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, fmt.Errorf("read actions of run %d: %w", runID, err)
	}
	return actions, nil
}

// ActionsByID reads rows by id, in no particular order, and leaves out ids that do not exist. The fields that say how
// they ended are not filled in.
func (w *Reader) ActionsByID(ctx context.Context, ids []int64) ([]*lists.Listed, error) {
	const query = `SELECT ` + lists.ListedColumns + `, s.body FROM actions a` + conditionSpecs + `WHERE a.id = ANY($1)`
	rows, err := w.pool.Query(ctx, query, ids)
	if err != nil {
		return nil, fmt.Errorf("read actions: %w", err)
	}
	actions, err := collectListed(rows)
	if err != nil {
		return nil, fmt.Errorf("read actions: %w", err)
	}
	return actions, nil
}

// collectListed reads and closes rows. It scans each into the same fields and copies them: a list of targets for each row would
// take more memory than the row.
func collectListed(rows pgx.Rows) ([]*lists.Listed, error) {
	defer rows.Close()
	var one lists.Listed
	targets := append(lists.ListedTargets(&one.Action), &one.Condition)
	var all []*lists.Listed
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		row := one
		all = append(all, &row)
	}
	return all, rows.Err()
}
