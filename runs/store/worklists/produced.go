package worklists

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/names/ident"
)

// Produced is the list of actions whose outputs declare artifacts that are not registered yet.
type Produced struct{ pool *pgxpool.Pool }

// NewProduced returns a store on a pool that the caller owns.
func NewProduced(pool *pgxpool.Pool) *Produced { return &Produced{pool: pool} }

// ProducedOutputs are outputs to register.
type ProducedOutputs struct {
	ID        int64
	Action    ident.Action
	Attempt   int32
	OutputURI string
	// CreatedBy is the encoded common.EnrichedIdentity of who created the run.
	CreatedBy []byte
	Tries     int
}

// Pending reads the outputs that are due, longest due first. Those that wait for longer than the longest pause are due,
// too: they were postponed before the clock was set back.
func (p *Produced) Pending(ctx context.Context, now time.Time, longest time.Duration, limit int) ([]ProducedOutputs, error) {
	const query = `
		SELECT o.action_id, a.project, a.domain, a.run_name, a.name, a.attempt, a.output_uri, r.created_by, o.tries
		FROM (SELECT * FROM produced_outputs WHERE next_at <= $1 OR next_at > $2 ORDER BY next_at, action_id LIMIT $3) o
		JOIN actions a ON a.id = o.action_id
		JOIN actions r ON r.id = o.run_id
		ORDER BY o.next_at, o.action_id`
	rows, err := p.pool.Query(ctx, query, now, now.Add(longest), limit)
	if err != nil {
		return nil, fmt.Errorf("read produced outputs: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (ProducedOutputs, error) {
		var o ProducedOutputs
		return o, row.Scan(&o.ID, &o.Action.Run.Project, &o.Action.Run.Domain, &o.Action.Run.Name, &o.Action.Name, &o.Attempt,
			&o.OutputURI, &o.CreatedBy, &o.Tries)
	})
	if err != nil {
		return nil, fmt.Errorf("read produced outputs: %w", err)
	}
	return found, nil
}

// Postpone records a failed try and when to retry.
func (p *Produced) Postpone(ctx context.Context, id int64, tries int, next time.Time) error {
	if _, err := p.pool.Exec(ctx, `UPDATE produced_outputs SET tries = $2, next_at = $3 WHERE action_id = $1`, id, tries, next); err != nil {
		return fmt.Errorf("postpone produced outputs: %w", err)
	}
	return nil
}

// Done deletes outputs that are registered.
func (p *Produced) Done(ctx context.Context, id int64) error {
	if _, err := p.pool.Exec(ctx, `DELETE FROM produced_outputs WHERE action_id = $1`, id); err != nil {
		return fmt.Errorf("delete produced outputs: %w", err)
	}
	return nil
}
