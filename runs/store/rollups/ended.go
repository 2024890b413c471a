package rollups

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/runs/store/schema"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// Ended is a task action that ended.
type Ended struct {
	Action schema.Action // without what is not counted
	Events []schema.Event
	// Measured are its attempts that were measured, as far as that is stored.
	Measured []MeasuredAttempt
	// Of the root action.
	RootTask, Owner string
	Labels          map[string]string
	RunCreated      time.Time
}

// Task is the name of its task, and where it ran.
func (e *Ended) Task() Task {
	return Task{schema.Scope{Project: e.Action.Project, Domain: e.Action.Domain}, e.Action.TaskName}
}

// take looks up the action of each row by itself, in a scalar subquery: of a join, the planner may read every action there is, since
// the statistics of the list are always old.
func take(ctx context.Context, tx pgx.Tx, limit int, until time.Time) ([]int64, error) {
	rows, err := tx.Query(ctx, `
		DELETE FROM uncounted_ends WHERE action_id = ANY(ARRAY(
			SELECT u.action_id FROM uncounted_ends u
			WHERE (SELECT a.runner = `+sqltext.Executor+` AND a.ended_at > $2 FROM actions a WHERE a.id = u.action_id) IS NOT TRUE
			ORDER BY u.action_id LIMIT $1))
		RETURNING action_id`, limit, until)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// readEnded reads the actions in the order of their runs. It locks these in that order, so that retention does not delete one before its
// rows are written. An action that was reopened meanwhile is left out; it is listed again when it ends.
func readEnded(ctx context.Context, tx pgx.Tx, ids []int64) ([]Ended, error) {
	rows, err := tx.Query(ctx, `
		SELECT a.id, a.run_id, a.project, a.domain, a.run_name, a.name, a.task_name, a.phase, a.attempt, a.cache_status, a.cache_reason, a.cache_key,
			a.created_at, a.started_at, a.ended_at, a.updated_at, a.runner, a.queue, a.cluster, a.spec_digest,
			r.task_name, r.created_by_subject, r.labels, r.created_at
		FROM (SELECT * FROM actions WHERE id = ANY($1) AND action_type = `+sqltext.Task+` AND ended_at IS NOT NULL ORDER BY run_id OFFSET 0) a
		CROSS JOIN LATERAL (SELECT * FROM actions WHERE id = a.run_id FOR KEY SHARE) r`, ids)
	if err != nil {
		return nil, err
	}
	ended, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (e Ended, err error) {
		a := &e.Action
		return e, row.Scan(&a.ID, &a.RunID, &a.Project, &a.Domain, &a.RunName, &a.Name, &a.TaskName, &a.Phase, &a.Attempt, &a.CacheStatus, &a.CacheReason, &a.CacheKey,
			&a.CreatedAt, &a.StartedAt, &a.EndedAt, &a.UpdatedAt, &a.Runner, &a.Queue, &a.Cluster, &a.SpecDigest,
			&e.RootTask, &e.Owner, &e.Labels, &e.RunCreated)
	})
	if err != nil {
		return nil, err
	}
	if err := readEvents(ctx, tx, ended); err != nil {
		return nil, err
	}
	return ended, readMeasured(ctx, tx, ended)
}

// readEvents reads the events of actions that requested something of a machine: those that change a phase or an attempt.
func readEvents(ctx context.Context, tx pgx.Tx, ended []Ended) error {
	at := make(map[int64]int, len(ended))
	var ids []int64
	for i := range ended {
		if runner := ended[i].Action.Runner; runner == schema.RunnerExecutor || runner == schema.RunnerPool {
			at[ended[i].Action.ID] = i
			ids = append(ids, ended[i].Action.ID)
		}
	}
	rows, err := tx.Query(ctx, `
		SELECT action_id, attempt, phase, recorded_at, event FROM (
			SELECT *, lag(attempt) OVER log AS attempt_before, lag(phase) OVER log AS phase_before
			FROM action_events WHERE action_id = ANY($1) WINDOW log AS (PARTITION BY action_id ORDER BY seq)) AS events
		WHERE (attempt, phase) IS DISTINCT FROM (attempt_before, phase_before) ORDER BY action_id, seq`, ids)
	if err != nil {
		return err
	}
	var e schema.Event
	_, err = pgx.ForEachRow(rows, []any{&e.ActionID, &e.Attempt, &e.Phase, &e.RecordedAt, &e.Event}, func() error {
		of := &ended[at[e.ActionID]]
		of.Events = append(of.Events, e)
		e.Event = nil // the next one has bytes of its own
		return nil
	})
	return err
}
