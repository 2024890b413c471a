package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/internal/rpc"
)

// Reader answers what lists and details ask, from one statement or one snapshot each.
type Reader struct {
	pool *pgxpool.Pool
}

// NewReader makes a reader on a pool that it does not own.
func NewReader(pool *pgxpool.Pool) *Reader { return &Reader{pool: pool} }

// planned makes every execution of a list be planned for its own values: a plan that suits one phase or task can be
// a thousand times too slow for another. The parameter types are cached, so it stays at one round trip.
const planned = pgx.QueryExecModeCacheDescribe

// Spec reads the encoded message with a digest. It answers data loss when there is none, since rows keep digests
// of stored specs only.
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

// snapshot runs fn in a transaction that sees one moment of the database.
func (r *Reader) snapshot(ctx context.Context, fn func(pgx.Tx) error) error {
	options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	return pgx.BeginTxFunc(ctx, r.pool, options, fn)
}
