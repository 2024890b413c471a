package watches

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

const briefColumns = `a.id, a.name, a.parent_name, a.action_type, a.action_group, a.phase, a.attempt, a.cache_status, a.last_seq,
	a.task_name, a.short_name, a.cluster, a.created_at, a.started_at, a.ended_at`

func briefTargets(b *schema.Brief) []any {
	return []any{
		&b.ID, &b.Name, &b.ParentName, &b.ActionType, &b.ActionGroup, &b.Phase, &b.Attempt, &b.CacheStatus, &b.LastSeq,
		&b.TaskName, &b.ShortName, &b.Cluster, &b.CreatedAt, &b.StartedAt, &b.EndedAt,
	}
}

func scanBrief(row pgx.CollectableRow) (b schema.Brief, err error) {
	return b, row.Scan(briefTargets(&b)...)
}

// Briefs reads the actions of a run that changed after a position in its log, in listing order, after a key.
func (w *Reader) Briefs(ctx context.Context, runID, since int64, after ActionKey, limit int) ([]schema.Brief, error) {
	const query = `
		SELECT ` + briefColumns + ` FROM actions a
		WHERE a.run_id = $1 AND (a.created_at, a.id) > ($2, $3) AND a.last_seq > $4
		ORDER BY a.created_at, a.id LIMIT $5`
	var briefs []schema.Brief
	var batch pgx.Batch
	batch.Queue(walkRun)
	batch.Queue(query, runID, after.CreatedAt, after.ID, since, limit).Query(func(rows pgx.Rows) (err error) {
		briefs, err = pgx.CollectRows(rows, scanBrief)
		return err
	})
	if err := w.pool.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, fmt.Errorf("read actions of run %d: %w", runID, err)
	}
	return briefs, nil
}

// BriefsByID reads actions by id, in id order. It leaves out ids that do not exist.
func (w *Reader) BriefsByID(ctx context.Context, ids []int64) ([]schema.Brief, error) {
	return w.briefs(ctx, `SELECT `+briefColumns+` FROM actions a WHERE a.id = ANY($1) ORDER BY a.id`, ids)
}

// BriefsByName reads actions of a run by name, in id order. It leaves out names that do not exist.
func (w *Reader) BriefsByName(ctx context.Context, runID int64, names []string) ([]schema.Brief, error) {
	return w.briefs(ctx, `
		SELECT `+briefColumns+` FROM unnest($2::text[]) AS k (name) CROSS JOIN LATERAL (
			SELECT * FROM actions WHERE run_id = $1 AND name BETWEEN k.name AND k.name ORDER BY name LIMIT 1) AS a
		ORDER BY a.id`, runID, names)
}

func (w *Reader) briefs(ctx context.Context, query string, args ...any) ([]schema.Brief, error) {
	rows, err := w.pool.Query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read actions: %w", err)
	}
	briefs, err := pgx.CollectRows(rows, scanBrief)
	if err != nil {
		return nil, fmt.Errorf("read actions: %w", err)
	}
	return briefs, nil
}

// BriefChanges reads up to limit events of a run after a position in its log, and the actions that they concern in id
// order. It returns the position up to which it read the log, and whether there may be more.
func (w *Reader) BriefChanges(ctx context.Context, runID, after int64, limit int) (briefs []schema.Brief, upTo int64, more bool, err error) {
	const query = `
		WITH part AS MATERIALIZED (
			SELECT seq, action_id FROM action_events WHERE run_id = $1 AND seq > $2 ORDER BY seq LIMIT $3
		)
		SELECT (SELECT max(seq) FROM part), (SELECT count(*) FROM part), ` + briefColumns + `
		FROM (SELECT DISTINCT action_id FROM part) AS concerned JOIN actions a ON a.id = concerned.action_id
		ORDER BY a.id`
	rows, err := w.pool.Query(ctx, query, runID, after, limit)
	if err != nil {
		return nil, after, false, fmt.Errorf("read changes of run %d: %w", runID, err)
	}
	var read int
	upTo = after
	briefs, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (b schema.Brief, err error) {
		return b, row.Scan(append([]any{&upTo, &read}, briefTargets(&b)...)...)
	})
	if err != nil {
		return nil, after, false, fmt.Errorf("read changes of run %d: %w", runID, err)
	}
	return briefs, upTo, read == limit, nil
}

// PhaseCount is the number of actions in one phase.
type PhaseCount struct {
	Phase int16
	Count int64
}

// PhaseCounts counts the actions of a run by phase, in phase order.
func (w *Reader) PhaseCounts(ctx context.Context, runID int64) ([]PhaseCount, error) {
	rows, err := w.pool.Query(ctx, `SELECT phase, count(*) FROM actions WHERE run_id = $1 GROUP BY phase ORDER BY phase`, runID)
	if err != nil {
		return nil, fmt.Errorf("count the actions of run %d: %w", runID, err)
	}
	counts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[PhaseCount])
	if err != nil {
		return nil, fmt.Errorf("count the actions of run %d: %w", runID, err)
	}
	return counts, nil
}
