package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// SigningKey is a key by which the installation signs tokens.
type SigningKey struct {
	ID string
	// Private is the key itself, in the form of its purpose.
	Private   []byte
	CreatedAt time.Time
	// RetiresAt is when it no longer verifies; nil for the newest of its purpose.
	RetiresAt *time.Time
}

// SigningKeys reads the keys of a purpose that have not retired, the newest first.
func (s *Store) SigningKeys(ctx context.Context, purpose string) ([]SigningKey, error) {
	return signingKeys(ctx, s.pool, purpose, s.clock.Now())
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func signingKeys(ctx context.Context, db querier, purpose string, now time.Time) ([]SigningKey, error) {
	const query = `
		SELECT id, private, created_at, retires_at FROM access_signing_keys
		WHERE purpose = $1 AND (retires_at IS NULL OR retires_at > $2) ORDER BY created_at DESC, id`
	rows, err := db.Query(ctx, query, purpose, now)
	if err != nil {
		return nil, fmt.Errorf("read the signing keys for %s: %w", purpose, err)
	}
	keys, err := pgx.CollectRows(rows, pgx.RowToStructByPos[SigningKey])
	if err != nil {
		return nil, fmt.Errorf("read the signing keys for %s: %w", purpose, err)
	}
	return keys, nil
}

// AddSigningKey adds a key of a purpose, from which on it signs, unless the newest one is not older than before: another
// replica has added one meanwhile. Older keys verify until retires. It deletes those that have retired, and returns the keys that
// are there then, the newest first.
func (s *Store) AddSigningKey(ctx context.Context, purpose string, key SigningKey, before, retires time.Time) (keys []SigningKey, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`, "access signing key "+purpose); err != nil {
			return err
		}
		if keys, err = signingKeys(ctx, tx, purpose, s.clock.Now()); err != nil {
			return err
		}
		if len(keys) > 0 && keys[0].CreatedAt.After(before) {
			return nil
		}
		batch := &pgx.Batch{}
		batch.Queue(`DELETE FROM access_signing_keys WHERE purpose = $1 AND retires_at <= $2`, purpose, s.clock.Now())
		batch.Queue(`UPDATE access_signing_keys SET retires_at = $2 WHERE purpose = $1 AND retires_at IS NULL`, purpose, retires)
		batch.Queue(`INSERT INTO access_signing_keys (id, purpose, private, created_at) VALUES ($1, $2, $3, $4)`, key.ID, purpose, key.Private, key.CreatedAt)
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		keys, err = signingKeys(ctx, tx, purpose, s.clock.Now())
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("add a signing key for %s: %w", purpose, err)
	}
	return keys, nil
}
