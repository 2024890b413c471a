package catalog

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
)

// ActionStates keeps a text for each action that has one.
type ActionStates struct{ pool *pgxpool.Pool }

// NewActionStates returns a store on a pool that the caller owns.
func NewActionStates(pool *pgxpool.Pool) *ActionStates { return &ActionStates{pool: pool} }

// Put replaces the state of an action.
func (s *ActionStates) Put(ctx context.Context, id ident.Action, state string, now time.Time) error {
	err := pgdb.Change(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			INSERT INTO action_states (action_id, state, updated_at)
			SELECT a.id, $5, $6 FROM actions r JOIN actions a ON a.run_id = r.id AND a.name = $4
			WHERE r.project = $1 AND r.domain = $2 AND r.run_name = $3 AND r.parent_name IS NULL
			ON CONFLICT (action_id) DO UPDATE SET state = EXCLUDED.state, updated_at = EXCLUDED.updated_at`,
			id.Run.Project, id.Run.Domain, id.Run.Name, id.Name, state, now)
		if err == nil && tag.RowsAffected() == 0 {
			return rpc.NotFound("action %s does not exist", id)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("store the state of %s: %w", id, err)
	}
	return nil
}

// Get reads the state of an action.
func (s *ActionStates) Get(ctx context.Context, id ident.Action) (string, error) {
	var state *string
	err := s.pool.QueryRow(ctx, `
		SELECT s.state FROM actions r JOIN actions a ON a.run_id = r.id AND a.name = $4
		LEFT JOIN action_states s ON s.action_id = a.id
		WHERE r.project = $1 AND r.domain = $2 AND r.run_name = $3 AND r.parent_name IS NULL`,
		id.Run.Project, id.Run.Domain, id.Run.Name, id.Name).Scan(&state)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return "", rpc.NotFound("action %s does not exist", id)
	case err != nil:
		return "", fmt.Errorf("read the state of %s: %w", id, err)
	case state == nil:
		return "", rpc.NotFound("action %s has no state", id)
	}
	return *state, nil
}
