package pgdb

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/work/failpoint"
)

// Record is what a transaction stores with the change that it makes: the audit record of the call that asked for it. A change
// that was made has its record, and one that was not has none.
type Record interface {
	// Queue adds the statement that stores the record. It adds nothing once the record is committed.
	Queue(statements *pgx.Batch) error
	// Committed is called after the commit. It must not block.
	Committed()
}

// Beginner begins transactions; a pool and a connection do.
type Beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// Change makes a change in one transaction, like pgx.BeginFunc, and stores the record of the context in it, if authz.WithRecord gave
// it one, in one more round trip. Errors of change are returned as they are, and then nothing has changed.
func Change(ctx context.Context, db Beginner, change func(tx pgx.Tx) error) error {
	record, _ := authz.RecordIn(ctx).(Record)
	err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		if err := change(tx); err != nil || record == nil {
			return err
		}
		var statements pgx.Batch
		if err := record.Queue(&statements); err != nil || statements.Len() == 0 {
			return err
		}
		failpoint.Here("change.before-record")
		if err := tx.SendBatch(ctx, &statements).Close(); err != nil {
			return fmt.Errorf("record the change: %w", err)
		}
		failpoint.Here("change.before-commit")
		return nil
	})
	if err == nil && record != nil {
		failpoint.Here("change.after-commit")
		record.Committed()
	}
	return err
}
