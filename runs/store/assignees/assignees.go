// Package assignees stores who is asked to answer conditions.
package assignees

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
	"github.com/flyte-binary/flyte-binary/runs/state"
	"github.com/flyte-binary/flyte-binary/runs/store/schema"
)

// Assignee is a person who is asked to answer a condition.
type Assignee struct {
	Subject, Name, Email string
	By                   string // the subject of who asked
	At                   time.Time
}

// Store keeps assignees.
type Store struct{ pool *pgxpool.Pool }

// New returns a store on a pool that the caller owns.
func New(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }

// Assign asks a person to answer a condition, in place of who was asked before; an assignee without a subject is no one. It returns
// NotFound for an unknown action, and FailedPrecondition for one that does not wait for an answer.
func (s *Store) Assign(ctx context.Context, action ident.Action, a Assignee) error {
	err := pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		id, err := waiting(ctx, tx, action)
		if err != nil {
			return err
		}
		if a.Subject == "" {
			_, err = tx.Exec(ctx, `DELETE FROM condition_assignees WHERE action_id = $1`, id)
		} else {
			_, err = tx.Exec(ctx, `
				INSERT INTO condition_assignees (action_id, subject, name, email, assigned_by, assigned_at) VALUES ($1, $2, $3, $4, $5, $6)
				ON CONFLICT (action_id) DO UPDATE SET subject = excluded.subject, name = excluded.name, email = excluded.email,
					assigned_by = excluded.assigned_by, assigned_at = excluded.assigned_at`, id, a.Subject, a.Name, a.Email, a.By, a.At)
		}
		if err != nil {
			return fmt.Errorf("assign a condition: %w", err)
		}
		failpoint.Here("assign.before-commit")
		return nil
	})
	if err == nil {
		failpoint.Here("assign.after-commit")
	}
	return err
}

// waiting is the id of a condition that waits. An answer that comes at the same time is not held up, and wins.
func waiting(ctx context.Context, tx pgx.Tx, action ident.Action) (id int64, err error) {
	var kind int16
	var phase state.Phase
	err = tx.QueryRow(ctx, `SELECT id, action_type, phase FROM actions WHERE project = $1 AND domain = $2 AND run_name = $3 AND name = $4`,
		action.Run.Project, action.Run.Domain, action.Run.Name, action.Name).Scan(&id, &kind, &phase)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return 0, rpc.NotFound("action %s does not exist", action)
	case err != nil:
		return 0, fmt.Errorf("read a condition: %w", err)
	case kind != schema.ActionCondition:
		return 0, rpc.FailedPrecondition("action %s is not a condition", action)
	case phase != state.Paused:
		return 0, rpc.FailedPrecondition("condition %s is not waiting for a signal: its phase is %s", action, state.Name(phase))
	}
	return id, nil
}

// Of are the assignees of actions, by the ids of the actions.
func (s *Store) Of(ctx context.Context, actions []int64) (map[int64]Assignee, error) {
	found := map[int64]Assignee{}
	if len(actions) == 0 {
		return found, nil
	}
	rows, err := s.pool.Query(ctx, `SELECT action_id, subject, name, email, assigned_by, assigned_at FROM condition_assignees WHERE action_id = ANY($1)`, actions)
	if err != nil {
		return nil, fmt.Errorf("read assignees: %w", err)
	}
	var id int64
	var a Assignee
	_, err = pgx.ForEachRow(rows, []any{&id, &a.Subject, &a.Name, &a.Email, &a.By, &a.At}, func() error {
		found[id] = a
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read assignees: %w", err)
	}
	return found, nil
}
