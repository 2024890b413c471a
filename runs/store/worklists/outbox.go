package worklists

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// Outbox is the list of what happened to runs that has not been turned into notifications yet.
type Outbox struct{ pool *pgxpool.Pool }

// NewOutbox returns a store on a pool that the caller owns.
func NewOutbox(pool *pgxpool.Pool) *Outbox { return &Outbox{pool: pool} }

// Occurrence is the end of a run, or an action that began to wait, with what notifications say about it.
type Occurrence struct {
	ID, RunID int64
	Action    ident.Action // the root action for the end of a run
	Phase     int16
	At        time.Time
	// Gone says that the run was deleted; then only the fields above without Action are set.
	Gone bool
	// Error is the encoded core.ExecutionError of a run that failed.
	Error []byte
	// AbortReason is that of a run that was aborted.
	AbortReason string
	// RunSpec is the encoded task.RunSpec; nil for an empty one.
	RunSpec []byte
	// Condition is the encoded workflow.ConditionAction of an action that waits; nil for other actions.
	Condition []byte
}

// Pending reads the oldest occurrences.
func (o *Outbox) Pending(ctx context.Context, limit int) ([]Occurrence, error) {
	const query = `
		SELECT o.id, o.run_id, o.phase, o.at, r.id IS NULL OR a.id IS NULL, coalesce(r.project, ''), coalesce(r.domain, ''),
			coalesce(r.run_name, ''), coalesce(a.name, ''), a.error, coalesce(a.abort_reason, ''), s.body, c.body
		FROM (SELECT * FROM notification_outbox ORDER BY id LIMIT $1) o
		LEFT JOIN actions r ON r.id = o.run_id
		LEFT JOIN actions a ON a.id = o.action_id
		LEFT JOIN specs s ON s.digest = r.run_spec_digest
		LEFT JOIN specs c ON c.digest = a.spec_digest AND a.action_type = ` + sqltext.Condition + `
		ORDER BY o.id`
	rows, err := o.pool.Query(ctx, query, limit)
	if err != nil {
		return nil, fmt.Errorf("read the outbox: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Occurrence, error) {
		var one Occurrence
		run := &one.Action.Run
		return one, row.Scan(&one.ID, &one.RunID, &one.Phase, &one.At, &one.Gone, &run.Project, &run.Domain, &run.Name, &one.Action.Name,
			&one.Error, &one.AbortReason, &one.RunSpec, &one.Condition)
	})
	if err != nil {
		return nil, fmt.Errorf("read the outbox: %w", err)
	}
	return found, nil
}

// Remove deletes occurrences whose notifications are stored.
func (o *Outbox) Remove(ctx context.Context, ids []int64) error {
	if _, err := o.pool.Exec(ctx, `DELETE FROM notification_outbox WHERE id = ANY($1)`, ids); err != nil {
		return fmt.Errorf("remove from the outbox: %w", err)
	}
	return nil
}

// Oldest is when the oldest occurrence happened; the zero time when there is none.
func (o *Outbox) Oldest(ctx context.Context) (time.Time, error) {
	var at time.Time
	err := o.pool.QueryRow(ctx, `SELECT at FROM notification_outbox ORDER BY id LIMIT 1`).Scan(&at)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return time.Time{}, fmt.Errorf("read the age of the outbox: %w", err)
	}
	return at, nil
}
