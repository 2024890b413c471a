package pgdb

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// retentionLock is the key of the advisory lock between the deletion of a run and whatever starts to point to its data.
const retentionLock = 0x666c7974652d7274 // "flyte-rt"

// LockRetentionShared makes the deletion of runs wait until the transaction ends. A transaction takes it before it records
// that something points to the data of a run: the next deletion then sees that.
func LockRetentionShared(ctx context.Context, tx pgx.Tx) error {
	return lockRetention(ctx, tx, `SELECT pg_advisory_xact_lock_shared($1)`)
}

// LockRetention waits for all transactions with the shared lock. A transaction takes it before it decides whether a run
// may be deleted, and must be short.
func LockRetention(ctx context.Context, tx pgx.Tx) error {
	return lockRetention(ctx, tx, `SELECT pg_advisory_xact_lock($1)`)
}

func lockRetention(ctx context.Context, tx pgx.Tx, statement string) error {
	if _, err := tx.Exec(ctx, statement, int64(retentionLock)); err != nil {
		return fmt.Errorf("lock retention: %w", err)
	}
	return nil
}
