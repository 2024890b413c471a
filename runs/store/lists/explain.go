package lists

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Standing is the data that explains why an action waits.
type Standing struct {
	// Action has only the fields that decisions about it read.
	schema.Action
	// RunLimit is the run's largest number of concurrent actions; 0 means no limit.
	RunLimit int32
	// Events are its last events, newest first.
	Events []schema.Event
}

// Standing reads why an action may wait. It returns NotFound when the action does not exist.
func (r *Reader) Standing(ctx context.Context, id ident.Action) (*Standing, error) {
	const query = `
		SELECT a.id, a.run_id, a.project, a.domain, a.run_name, a.name, a.parent_name, a.action_type, a.phase, a.attempt,
			a.admitted_at, a.hold, a.queue, a.priority, a.runner, a.wake_at, a.deadline_at, a.created_at, a.started_at, a.task_name,
			a.cache_status, a.cache_key, a.cache_reason, a.cluster, a.created_by_subject, r.max_concurrency
		FROM actions r JOIN actions a ON a.run_id = r.id AND a.name = $4
		WHERE r.project = $1 AND r.domain = $2 AND r.run_name = $3 AND r.parent_name IS NULL`
	const events = `
		SELECT run_id, seq, action_id, attempt, phase, version, recorded_at, event, error
		FROM action_events WHERE action_id = $1 ORDER BY seq DESC LIMIT 10`
	s := &Standing{}
	err := r.pool.QueryRow(ctx, query, id.Run.Project, id.Run.Domain, id.Run.Name, id.Name).Scan(
		&s.ID, &s.RunID, &s.Project, &s.Domain, &s.RunName, &s.Name, &s.ParentName, &s.ActionType, &s.Phase, &s.Attempt,
		&s.AdmittedAt, &s.Hold, &s.Queue, &s.Priority, &s.Runner, &s.WakeAt, &s.DeadlineAt, &s.CreatedAt, &s.StartedAt, &s.TaskName,
		&s.CacheStatus, &s.CacheKey, &s.CacheReason, &s.Cluster, &s.CreatedBySubject, &s.RunLimit)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, rpc.NotFound("action %s does not exist", id)
	}
	if err != nil {
		return nil, fmt.Errorf("read action %s: %w", id, err)
	}
	rows, err := r.pool.Query(ctx, events, s.ID)
	if err != nil {
		return nil, fmt.Errorf("read events of action %s: %w", id, err)
	}
	if s.Events, err = pgx.CollectRows(rows, pgx.RowToStructByPos[schema.Event]); err != nil {
		return nil, fmt.Errorf("read events of action %s: %w", id, err)
	}
	return s, nil
}

// ReservedBy finds the action that reserved the cache key for which another action waits, as recorded with the
// waiting action. It returns nil when the holder has ended.
func (r *Reader) ReservedBy(ctx context.Context, waits *schema.Action) (*ident.Action, error) {
	const query = `
		SELECT a.project, a.domain, a.run_name, a.name FROM reserved_keys k JOIN actions a ON a.id = k.action_id
		WHERE k.key = $1 AND a.id <> $2 AND strpos($3, concat_ws('/', a.project, a.domain, a.run_name, a.name)) > 0
		ORDER BY length(a.name) DESC LIMIT 1`
	var id ident.Action
	err := r.pool.QueryRow(ctx, query, waits.CacheKey, waits.ID, waits.CacheReason).Scan(&id.Run.Project, &id.Run.Domain, &id.Run.Name, &id.Name)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // no one holds it
	}
	if err != nil {
		return nil, fmt.Errorf("read the holder of a reservation: %w", err)
	}
	return &id, nil
}
