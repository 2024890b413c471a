package rollups

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// GridRun is a run of a pipeline.
type GridRun struct {
	ID      int64
	Name    string
	Phase   int16
	Version string
	Created time.Time
	Ended   *time.Time
}

// Unfinished counts the actions of a task of a run that have not ended.
type Unfinished struct {
	RunID   int64
	Task    string
	Actions int32
	Name    string // of one of them
}

// maxUnfinished bounds the actions of a run that are counted while they have not ended.
const maxUnfinished = 2000

// Grid reads the latest runs of a root task, the latest first, and how the actions of their tasks did. It reads no ended actions but the roots.
func (s *Store) Grid(ctx context.Context, task Task, limit int) (runs []GridRun, tasks []RunTask, unfinished []Unfinished, err error) {
	if !listquery.Sees(ctx, task.Project, task.Domain) {
		return nil, nil, nil, nil
	}
	err = sqltext.Snapshot(ctx, s.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `
			SELECT a.id, a.run_name, a.phase, a.task_version, a.created_at, a.ended_at FROM actions a
			WHERE a.parent_name IS NULL AND a.project = $1 AND a.domain = $2 AND a.task_name = $3 ORDER BY a.created_at DESC, a.id DESC LIMIT $4`,
			task.Project, task.Domain, task.Name, limit)
		if err != nil {
			return err
		}
		if runs, err = pgx.CollectRows(rows, pgx.RowToStructByPos[GridRun]); err != nil {
			return err
		}
		ids := sqltext.Column(runs, func(r GridRun) int64 { return r.ID })
		if rows, err = tx.Query(ctx, `
			SELECT t.run_id, t.task, t.succeeded, t.failed, t.aborted, t.cached, t.ran, t.name FROM run_tasks t WHERE t.run_id = ANY($1) ORDER BY t.run_id, t.task`, ids); err != nil {
			return err
		}
		if tasks, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (t RunTask, err error) {
			var ms int64
			err = row.Scan(&t.RunID, &t.Task, &t.Succeeded, &t.Failed, &t.Aborted, &t.Cached, &ms, &t.Name)
			t.Ran = time.Duration(ms) * time.Millisecond
			return t, err
		}); err != nil {
			return err
		}
		if rows, err = tx.Query(ctx, `
			SELECT u.run_id, u.task_name, count(*)::integer, min(u.name) FROM unnest($1::bigint[]) AS r (id), LATERAL (
				SELECT a.run_id, a.task_name, a.name FROM actions a
				WHERE a.run_id = r.id AND a.ended_at IS NULL AND a.action_type = `+sqltext.Task+` LIMIT $2) u
			GROUP BY 1, 2`, ids, maxUnfinished); err != nil {
			return err
		}
		unfinished, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Unfinished])
		return err
	})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("read the runs of task %s: %w", task.Name, err)
	}
	return runs, tasks, unfinished, nil
}

// CacheDays reads what the cache said about the actions of the tasks of a place since a day, summed by task. It leaves out tasks that do
// not use it.
func (s *Store) CacheDays(ctx context.Context, scope schema.Scope, since time.Time) (map[string][]int64, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT h.task, c.kind::integer, sum(c.count)::bigint FROM task_health h
			JOIN task_days d ON d.project = h.project AND d.domain = h.domain AND d.task = h.task AND d.day >= $3,
			LATERAL unnest(d.cache) WITH ORDINALITY AS c (count, kind)
		WHERE h.project = $1 AND h.domain = $2 AND h.last_at >= $3 AND c.count > 0 GROUP BY 1, 2 ORDER BY 1, 2`, scope.Project, scope.Domain, since)
	if err != nil {
		return nil, fmt.Errorf("read what the cache did: %w", err)
	}
	found := map[string][]int64{}
	var task string
	var kind int
	var count int64
	_, err = pgx.ForEachRow(rows, []any{&task, &kind, &count}, func() error {
		for len(found[task]) < kind { // ordinals count from 1
			found[task] = append(found[task], 0)
		}
		found[task][kind-1] = count
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read what the cache did: %w", err)
	}
	return found, nil
}
