package worklists

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// ReservedKeys stores which actions hold a cache reservation, so that the knowledge survives this process.
type ReservedKeys struct{ pool *pgxpool.Pool }

// NewReservedKeys returns a store on a pool that the caller owns.
func NewReservedKeys(pool *pgxpool.Pool) *ReservedKeys { return &ReservedKeys{pool: pool} }

// ReservedKey is a reservation that an action holds or is about to request. Without project and domain the key is
// global.
type ReservedKey struct {
	ActionID, RunID      int64
	Project, Domain, Key string
	Owner                string
	// Held says that the action itself waits, Ended that it has ended or was deleted. Both are set only when read.
	Held, Ended bool
}

// Remember stores a reservation before it is requested.
func (k *ReservedKeys) Remember(ctx context.Context, key ReservedKey) error {
	const query = `INSERT INTO reserved_keys (action_id, run_id, project, domain, key, owner) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`
	if _, err := k.pool.Exec(ctx, query, key.ActionID, key.RunID, key.Project, key.Domain, key.Key, key.Owner); err != nil {
		return fmt.Errorf("remember reservation: %w", err)
	}
	return nil
}

// Forget deletes a reservation.
func (k *ReservedKeys) Forget(ctx context.Context, actionID int64) error {
	if _, err := k.pool.Exec(ctx, `DELETE FROM reserved_keys WHERE action_id = $1`, actionID); err != nil {
		return fmt.Errorf("forget reservation: %w", err)
	}
	return nil
}

// List reads a page of reservations, in action order, after a given action.
func (k *ReservedKeys) List(ctx context.Context, after int64, limit int) ([]ReservedKey, error) {
	const query = `
		SELECT k.action_id, k.run_id, k.project, k.domain, k.key, k.owner, coalesce(a.hold <> ` + sqltext.NoHold + `, false), a.id IS NULL OR a.ended_at IS NOT NULL
		FROM (SELECT * FROM reserved_keys WHERE action_id > $1 ORDER BY action_id LIMIT $2) k
		LEFT JOIN actions a ON a.id = k.action_id
		ORDER BY k.action_id`
	rows, err := k.pool.Query(ctx, query, after, limit)
	if err != nil {
		return nil, fmt.Errorf("read reservations: %w", err)
	}
	keys, err := pgx.CollectRows(rows, pgx.RowToStructByPos[ReservedKey])
	if err != nil {
		return nil, fmt.Errorf("read reservations: %w", err)
	}
	return keys, nil
}
