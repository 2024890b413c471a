package worklists

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// Webhooks is the list of pending webhook calls of conditions, and the data of the conditions that a call needs. The
// transaction that records a condition also adds its call.
type Webhooks struct{ pool *pgxpool.Pool }

// NewWebhooks returns a store on a pool that the caller owns.
func NewWebhooks(pool *pgxpool.Pool) *Webhooks { return &Webhooks{pool: pool} }

// Condition is a condition with the data that its call needs.
type Condition struct {
	ID         int64
	Action     ident.Action
	Phase      int16
	DeadlineAt *time.Time
	Spec       []byte // workflow.ConditionAction
}

// PendingWebhook is a webhook call that has not succeeded.
type PendingWebhook struct {
	Condition
	Tries int // failed tries so far
}

const conditionColumns = `a.id, a.project, a.domain, a.run_name, a.name, a.phase, a.deadline_at, s.body`

func (c *Condition) targets() []any {
	return []any{&c.ID, &c.Action.Run.Project, &c.Action.Run.Domain, &c.Action.Run.Name, &c.Action.Name, &c.Phase, &c.DeadlineAt, &c.Spec}
}

// Pending reads the calls that are due, longest due first. A call that waits for longer than the longest pause is due,
// too: it was postponed before the clock was set back.
func (w *Webhooks) Pending(ctx context.Context, now time.Time, longest time.Duration, limit int) ([]PendingWebhook, error) {
	const query = `
		SELECT ` + conditionColumns + `, h.tries
		FROM (SELECT * FROM webhooks WHERE next_at <= $1 OR next_at > $2 ORDER BY next_at, action_id LIMIT $3) h
		JOIN actions a ON a.id = h.action_id
		JOIN specs s ON s.digest = a.spec_digest
		ORDER BY h.next_at, h.action_id`
	rows, err := w.pool.Query(ctx, query, now, now.Add(longest), limit)
	if err != nil {
		return nil, fmt.Errorf("read webhooks: %w", err)
	}
	pending, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (PendingWebhook, error) {
		var p PendingWebhook
		return p, row.Scan(append(p.targets(), &p.Tries)...)
	})
	if err != nil {
		return nil, fmt.Errorf("read webhooks: %w", err)
	}
	return pending, nil
}

// Postpone records a failed try and when to retry.
func (w *Webhooks) Postpone(ctx context.Context, id int64, tries int, next time.Time) error {
	if _, err := w.pool.Exec(ctx, `UPDATE webhooks SET tries = $2, next_at = $3 WHERE action_id = $1`, id, tries, next); err != nil {
		return fmt.Errorf("postpone webhook: %w", err)
	}
	return nil
}

// Drop deletes a pending call.
func (w *Webhooks) Drop(ctx context.Context, id int64) error {
	if _, err := w.pool.Exec(ctx, `DELETE FROM webhooks WHERE action_id = $1`, id); err != nil {
		return fmt.Errorf("drop webhook: %w", err)
	}
	return nil
}

// Condition reads a condition by id. It returns NotFound when the condition does not exist.
func (w *Webhooks) Condition(ctx context.Context, id int64) (*Condition, error) {
	const query = `SELECT ` + conditionColumns + ` FROM actions a JOIN specs s ON s.digest = a.spec_digest WHERE a.id = $1 AND a.action_type = ` + sqltext.Condition
	c := &Condition{}
	err := w.pool.QueryRow(ctx, query, id).Scan(c.targets()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, rpc.NotFound("the condition no longer exists")
	}
	if err != nil {
		return nil, fmt.Errorf("read condition: %w", err)
	}
	return c, nil
}

// SigningKey returns the installation's key of a name. The first caller creates it; afterwards all replicas get the
// same key.
func (w *Webhooks) SigningKey(ctx context.Context, name string, fresh []byte) (key []byte, err error) {
	const query = `
		WITH made AS (INSERT INTO signing_keys (name, key) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING RETURNING key)
		SELECT key FROM made UNION ALL SELECT key FROM signing_keys WHERE name = $1 LIMIT 1`
	for range 2 { // another replica may create it between the two parts of the statement
		if err = w.pool.QueryRow(ctx, query, name, fresh).Scan(&key); !errors.Is(err, pgx.ErrNoRows) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read signing key: %w", err)
	}
	return key, nil
}
