package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// NoteDescendants sets what Offer could not know: that an action waits whose ancestor has got a slot of the same pool since. Siblings are
// looked at together, so a large fan-out costs one read of its waiting actions.
func (s *Store) NoteDescendants(ctx context.Context) error {
	const found = `
		below AS (SELECT DISTINCT pool_id, project, domain, run, ancestors FROM pool_actions WHERE worker_id IS NULL AND NOT nested AND ancestors <> '{}'),
		held AS (SELECT b.* FROM below b WHERE EXISTS (
			SELECT FROM pool_actions h WHERE h.worker_id IS NOT NULL AND h.pool_id = b.pool_id AND (h.project, h.domain, h.run) = (b.project, b.domain, b.run)
				AND h.name = ANY(b.ancestors)))`
	return s.inTx(ctx, "look for descendants", func(tx pgx.Tx) ([]Change, error) {
		ids, err := lockOf(ctx, tx, `WITH `+found+` SELECT pool_id FROM held`)
		if err != nil || len(ids) == 0 {
			return nil, err
		}
		rows, err := tx.Query(ctx, `
			WITH `+found+`, noted AS (
				UPDATE pool_actions a SET nested = true FROM held b
				WHERE a.pool_id = ANY($1) AND (a.pool_id, a.project, a.domain, a.run, a.ancestors) = (b.pool_id, b.project, b.domain, b.run, b.ancestors)
					AND a.worker_id IS NULL AND NOT a.nested RETURNING a.pool_id)
			SELECT pool_id, count(*) FROM noted GROUP BY pool_id`, ids)
		if err != nil {
			return nil, fmt.Errorf("note descendants: %w", err)
		}
		return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Change, error) {
			c := Change{To: ForWork}
			return c, row.Scan(&c.Pool, &c.Work)
		})
	})
}
