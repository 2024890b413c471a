package deletions

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

const (
	// specWait bounds how long the sweep waits for writers; new writers queue behind it meanwhile.
	specWait = `SET LOCAL lock_timeout = '200ms'`

	// isUnused names every column that refers to specs; a test checks it against the schema.
	isUnused = `NOT EXISTS (SELECT FROM actions WHERE spec_digest = c.digest)
		AND NOT EXISTS (SELECT FROM actions WHERE run_spec_digest = c.digest)
		AND NOT EXISTS (SELECT FROM tasks WHERE spec_digest = c.digest)`
)

// SweepSpecs deletes specs whose last references were in deleted rows, and returns how many candidates it checked; 0
// means that none are left, or that writers held the lock.
func (r *Store) SweepSpecs(ctx context.Context, limit int) (looked int, err error) {
	// Candidates in use are sorted out before the lock, so that no writer waits for it.
	rows, err := r.pool.Query(ctx, `
		SELECT c.digest, `+isUnused+` FROM (SELECT digest FROM spec_candidates ORDER BY digest LIMIT $1) AS c`, limit)
	if err != nil {
		return 0, fmt.Errorf("read unused specs: %w", err)
	}
	var all, unused [][]byte
	var digest []byte
	var free bool
	_, err = pgx.ForEachRow(rows, []any{&digest, &free}, func() error {
		all = append(all, digest)
		if free {
			unused = append(unused, digest)
		}
		digest = nil
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("read unused specs: %w", err)
	}
	if len(all) == 0 {
		return 0, nil
	}
	err = pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error { return dropUnused(ctx, tx, all, unused) })
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "55P03" {
		return 0, nil // lock not available: the next sweep comes
	}
	if err != nil {
		return 0, fmt.Errorf("delete unused specs: %w", err)
	}
	return len(all), nil
}

func dropUnused(ctx context.Context, tx pgx.Tx, looked, unused [][]byte) error {
	if len(unused) > 0 {
		for _, statement := range []string{specWait, sqltext.DropSpecs} {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		tag, err := tx.Exec(ctx, `DELETE FROM specs c WHERE c.digest = ANY($1) AND `+isUnused, unused)
		if err != nil {
			return err
		}
		if tag.RowsAffected() > 0 {
			if _, err := tx.Exec(ctx, `UPDATE spec_sweeps SET generation = generation + 1`); err != nil {
				return err
			}
		}
	}
	_, err := tx.Exec(ctx, `DELETE FROM spec_candidates WHERE digest = ANY($1)`, looked)
	return err
}
