package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Reader serves lists and details, each from one statement or one snapshot.
type Reader struct {
	pool *pgxpool.Pool
}

// NewReader returns a reader on a pool that the caller owns.
func NewReader(pool *pgxpool.Pool) *Reader { return &Reader{pool: pool} }

// planned forces a new plan for every execution of a list: a plan for one phase or task can be a thousand times too
// slow for another. The parameter types are cached, so a list still takes one round trip.
const planned = pgx.QueryExecModeCacheDescribe

// Spec reads the encoded message with a digest. It returns DataLoss when the spec is missing, since rows refer only
// to stored specs.
func (r *Reader) Spec(ctx context.Context, digest []byte) ([]byte, error) {
	var body []byte
	err := r.pool.QueryRow(ctx, `SELECT body FROM specs WHERE digest = $1`, digest).Scan(&body)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, rpc.DataLoss(nil, "spec %x is not stored", digest)
	}
	if err != nil {
		return nil, fmt.Errorf("read spec: %w", err)
	}
	return body, nil
}

// snapshot runs fn in a transaction with a consistent snapshot of the database.
func (r *Reader) snapshot(ctx context.Context, fn func(pgx.Tx) error) error {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return pgx.BeginTxFunc(ctx, r.pool, options, fn)
}
