package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Vitals say what the database holds and what waits in it for the engine's loops.
type Vitals struct {
	// Bytes is the size of the whole database, Actions about how many actions it has.
	Bytes, Actions int64
	// Held is how many actions wait for something to be settled before they may be admitted.
	Held int64
	// Overdue is how many actions the engine should have looked at before now, such as timeouts and starts.
	Overdue int64
	// Webhooks is how many calls of conditions are still to be made.
	Webhooks int64
	// Deletions is how many runs are on their way out.
	Deletions int64
	// Leases are those of the loops that run once in an installation, by name.
	Leases []Lease
}

// Lease says who runs a loop until when.
type Lease struct {
	Name, Holder string
	ExpiresAt    time.Time
}

// counted bounds what is counted of each backlog.
const counted = 10_000

// readVitals counts by partial indexes, and each backlog to a bound.
const readVitals = `SELECT pg_database_size(current_database()),
	(SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'actions'::regclass),
	(SELECT count(*) FROM (SELECT 1 FROM actions WHERE hold <> 0 AND ended_at IS NULL LIMIT $2) h),
	(SELECT count(*) FROM (SELECT 1 FROM actions WHERE due > 1 AND wake_at < $1 LIMIT $2) d)
		+ (SELECT count(*) FROM (SELECT 1 FROM actions WHERE due = 1 AND wake_at < $1 LIMIT $2) s),
	(SELECT count(*) FROM (SELECT 1 FROM webhooks LIMIT $2) w),
	(SELECT count(*) FROM (SELECT 1 FROM run_deletions WHERE rows_gone_at IS NULL LIMIT $2) r)`

// ReadVitals reads them at a moment. Backlogs of more than 10,000 count as that many.
func ReadVitals(ctx context.Context, pool *pgxpool.Pool, now time.Time) (Vitals, error) {
	var v Vitals
	var statements pgx.Batch
	statements.Queue(readVitals, now, counted).QueryRow(func(row pgx.Row) error {
		return row.Scan(&v.Bytes, &v.Actions, &v.Held, &v.Overdue, &v.Webhooks, &v.Deletions)
	})
	statements.Queue(`SELECT name, holder, expires_at FROM leases ORDER BY name`).Query(func(rows pgx.Rows) (err error) {
		v.Leases, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Lease])
		return err
	})
	if err := pool.SendBatch(ctx, &statements).Close(); err != nil {
		return Vitals{}, fmt.Errorf("read the database's vitals: %w", err)
	}
	return v, nil
}
