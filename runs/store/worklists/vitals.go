package worklists

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/runs/store/sqltext"
)

// Vitals describe the contents of the database and the backlogs of the background loops.
type Vitals struct {
	// Bytes is the size of the whole database, Actions the approximate number of actions.
	Bytes, Actions int64
	// Held is the number of actions with a hold.
	Held int64
	// Overdue is the number of actions whose timeout or start is late.
	Overdue int64
	// Webhooks is the number of pending webhook calls.
	Webhooks int64
	// Conditions is the number of conditions that wait for an answer, WaitingSince when the oldest of them began; nil if none does.
	Conditions   int64
	WaitingSince *time.Time
	// Deletions is the number of runs being deleted.
	Deletions int64
	// UncountedSince is when the first end came that the roll-ups do not count yet; nil if they count all.
	UncountedSince *time.Time
	// Leases are those of the loops that run once per installation, by name.
	Leases []Lease
}

// Lease names the replica that holds a lease, and until when.
type Lease struct {
	Name, Holder string
	ExpiresAt    time.Time
}

// counted bounds the count of each backlog.
const counted = 10_000

// isWaiting is the condition of the index actions_paused.
const isWaiting = "phase = " + sqltext.Paused + " AND action_type = " + sqltext.Condition

// readVitals counts through partial indexes, each backlog up to the bound.
const readVitals = `SELECT pg_database_size(current_database()),
	(SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'actions'::regclass),
	(SELECT count(*) FROM (SELECT 1 FROM actions WHERE hold <> ` + sqltext.NoHold + ` AND ended_at IS NULL LIMIT $2) h),
	(SELECT count(*) FROM (SELECT 1 FROM actions WHERE due > ` + sqltext.DueStart + ` AND wake_at < $1 LIMIT $2) d)
		+ (SELECT count(*) FROM (SELECT 1 FROM actions WHERE due = ` + sqltext.DueStart + ` AND wake_at < $1 LIMIT $2) s),
	(SELECT count(*) FROM (SELECT 1 FROM webhooks LIMIT $2) w),
	(SELECT count(*) FROM (SELECT 1 FROM run_deletions WHERE rows_gone_at IS NULL LIMIT $2) r),
	(SELECT count(*) FROM (SELECT 1 FROM actions WHERE ` + isWaiting + ` LIMIT $2) c),
	(SELECT created_at FROM actions WHERE ` + isWaiting + ` ORDER BY created_at, id LIMIT 1),
	(SELECT min((SELECT a.ended_at FROM actions a WHERE a.id = u.action_id)) FROM (SELECT action_id FROM uncounted_ends ORDER BY action_id LIMIT 100) u)`

// oldestStart looks at the first attempts alone: the pause before another one may be long. Actions of pools wait for a worker.
const oldestStart = `SELECT min(a.admitted_at) FROM actions a WHERE ` + sqltext.IsLive + `
	AND a.phase = ` + sqltext.Queued + ` AND a.attempt = 1 AND a.runner = ` + sqltext.Executor

// OldestStart is when the oldest action was admitted with which its cluster has not begun; the zero time when there is none.
func OldestStart(ctx context.Context, pool *pgxpool.Pool) (time.Time, error) {
	var at *time.Time
	if err := pool.QueryRow(ctx, oldestStart).Scan(&at); err != nil {
		return time.Time{}, fmt.Errorf("look for the oldest start: %w", err)
	}
	if at == nil {
		return time.Time{}, nil
	}
	return *at, nil
}

// ReadVitals reads the vitals as of a time. It stops counting a backlog at 10,000.
func ReadVitals(ctx context.Context, pool *pgxpool.Pool, now time.Time) (Vitals, error) {
	var v Vitals
	var statements pgx.Batch
	statements.Queue(readVitals, now, counted).QueryRow(func(row pgx.Row) error {
		return row.Scan(&v.Bytes, &v.Actions, &v.Held, &v.Overdue, &v.Webhooks, &v.Deletions, &v.Conditions, &v.WaitingSince, &v.UncountedSince)
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
