package lists

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
	pool   *pgxpool.Pool
	looked int
}

// NewReader returns a reader on a pool that the caller owns.
func NewReader(pool *pgxpool.Pool) *Reader { return NewReaderOf(pool, Looked) }

// NewReaderOf is NewReader with another number of runs that a page looks at.
func NewReaderOf(pool *pgxpool.Pool, looked int) *Reader { return &Reader{pool: pool, looked: looked} }

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
