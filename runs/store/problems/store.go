package problems

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Store reads and writes problems.
type Store struct{ pool *pgxpool.Pool }

// New returns a store on a pool that the caller owns.
func New(pool *pgxpool.Pool) *Store { return &Store{pool: pool} }

// Place is a frame of the task's own code.
type Place struct{ File, Function string }

const (
	// maxTasks is how many tasks a problem names.
	maxTasks = 20
	// readBytes is how much of an error is read. The code and the beginning of the message suffice.
	readBytes = 768
)

// change runs a transaction that changes problems. Such transactions run one after the other: the counting of failures, and
// two problems that become one. Readers do not wait.
func (s *Store) change(ctx context.Context, do func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `LOCK TABLE problem_signs IN SHARE ROW EXCLUSIVE MODE`); err != nil {
			return fmt.Errorf("lock problems: %w", err)
		}
		return do(tx)
	})
}
