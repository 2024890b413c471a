package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/workers/pool"
)

// Offer adds an action, and its pool if that is new. It reports whether the action is new. An action that is stored stays as
// it is: the rest of the system only knows how it began.
func (s *Store) Offer(ctx context.Context, o Offered) (added bool, err error) {
	err = s.inTx(ctx, "offer an action", ForSessions, func(tx pgx.Tx) ([]int64, error) {
		// What a crash forgets of it, the next snapshot of assignments brings again.
		if _, err := tx.Exec(ctx, `SET LOCAL synchronous_commit = off`); err != nil {
			return nil, err
		}
		id, err := poolID(ctx, tx, o.Key, o.Policy, o.Template)
		if err != nil {
			return nil, err
		}
		tag, err := tx.Exec(ctx, `
			INSERT INTO pool_actions (uid, pool_id, project, domain, run, name, ancestors, priority, queued_at, attempt, user_failures, system_failures, nested)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, EXISTS (
				SELECT FROM pool_actions h WHERE h.pool_id = $2 AND (h.project, h.domain, h.run) = ($3, $4, $5) AND h.name = ANY($7) AND h.worker_id IS NOT NULL))
			ON CONFLICT (uid) DO NOTHING`,
			o.UID, id, o.Action.Action.Run.Project, o.Action.Action.Run.Domain, o.Action.Action.Run.Name, o.Action.Action.Name, append([]string{}, o.Ancestors...), o.Priority, o.QueuedAt,
			o.Attempt, o.UserFailures, o.SystemFailures)
		if err != nil || tag.RowsAffected() == 0 {
			return nil, err
		}
		added = true
		return []int64{id}, nil
	})
	return added, err
}

func poolID(ctx context.Context, tx pgx.Tx, k pool.Key, p pool.Policy, template []byte) (id int64, err error) {
	err = tx.QueryRow(ctx, `
		INSERT INTO worker_pools AS p (cluster, project, domain, name, version, run, min_replicas, max_replicas, concurrency, idle_ttl, scaledown_ttl, template)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (cluster, project, domain, name, version, run) DO UPDATE SET worked_at = clock_timestamp()
		RETURNING id`,
		k.Cluster, k.Project, k.Domain, k.Name, k.Version, k.Run, p.Min, p.Max, p.Concurrency, p.IdleTTL, p.ScaledownTTL, template).Scan(&id)
	return id, err
}

// Release forgets actions that have ended otherwise. What a worker has of them is kept until the worker has ended it.
func (s *Store) Release(ctx context.Context, uids ...int64) error {
	return s.inTx(ctx, "release actions", ForSessions, func(tx pgx.Tx) ([]int64, error) {
		return pools(ctx, tx, `
			WITH dropped AS (DELETE FROM pool_actions WHERE uid = ANY($1) AND worker_id IS NULL RETURNING pool_id),
			stopped AS (
				UPDATE pool_actions SET stop = `+sqlReleased+`, stop_at = clock_timestamp()
				WHERE uid = ANY($1) AND worker_id IS NOT NULL AND stop <> `+sqlReleased+` RETURNING pool_id)
			SELECT pool_id FROM dropped UNION SELECT pool_id FROM stopped`, uids)
	})
}

// Unreleased lists the uids of all actions that were not released.
func (s *Store) Unreleased(ctx context.Context) ([]int64, error) {
	rows, err := s.db.Query(ctx, `SELECT uid FROM pool_actions WHERE stop <> `+sqlReleased)
	if err != nil {
		return nil, fmt.Errorf("read actions of pools: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// Begun records that the process of an attempt began now, for the time limit of the attempt; 0 means without limit. begunAt
// is the worker's own time.
func (s *Store) Begun(ctx context.Context, a *Action, begunAt time.Time, warm bool, limit time.Duration) error {
	return s.inTx(ctx, "record the start of an attempt", ForKeeper, func(tx pgx.Tx) ([]int64, error) {
		limited, err := pools(ctx, tx, `
			UPDATE pool_actions SET begun_at = $4, warm = $5, run_until = CASE WHEN $6::interval > interval '0' THEN clock_timestamp() + $6::interval END
			WHERE uid = $1 AND attempt = $2 AND worker_id = $3 AND begun_at IS NULL RETURNING pool_id`, a.UID, a.Attempt, a.Worker, begunAt, warm, limit)
		if limit <= 0 {
			limited = nil // nothing is due
		}
		return limited, err
	})
}

// Done forgets an attempt of a worker and its action, which has ended. It is not an error if somebody else did.
func (s *Store) Done(ctx context.Context, a *Action) error {
	return s.leave(ctx, a, `DELETE FROM pool_actions WHERE uid = $1 AND attempt = $2 AND worker_id IS NOT DISTINCT FROM nullif($3, '') RETURNING pool_id`)
}

// Retry puts an action back that waits for another attempt, or forgets it if it was released. It is not an error if somebody else did.
func (s *Store) Retry(ctx context.Context, a *Action, next Action, pause time.Duration) error {
	return s.leave(ctx, a, `
		WITH dropped AS (
			DELETE FROM pool_actions WHERE uid = $1 AND attempt = $2 AND worker_id IS NOT DISTINCT FROM nullif($3, '') AND stop = `+sqlReleased+` RETURNING pool_id),
		kept AS (UPDATE pool_actions SET attempt = $4, user_failures = $5, system_failures = $6, not_before = clock_timestamp() + $7::interval,
			worker_id = NULL, begun_at = NULL, run_until = NULL, warm = false, stop = `+sqlNoStop+`, stop_at = NULL
		WHERE uid = $1 AND attempt = $2 AND worker_id IS NOT DISTINCT FROM nullif($3, '') AND stop <> `+sqlReleased+` RETURNING pool_id)
		SELECT pool_id FROM dropped UNION ALL SELECT pool_id FROM kept`,
		next.Attempt, next.UserFailures, next.SystemFailures, pause)
}

// leave changes the row of an attempt so that its worker has it no more.
func (s *Store) leave(ctx context.Context, a *Action, statement string, args ...any) error {
	return s.inTx(ctx, "end an attempt", ForKeeper, func(tx pgx.Tx) ([]int64, error) {
		changed, err := pools(ctx, tx, statement, append([]any{a.UID, a.Attempt, a.Worker}, args...)...)
		if err != nil || len(changed) == 0 {
			return nil, err
		}
		if _, err := tx.Exec(ctx, `UPDATE worker_pools SET worked_at = clock_timestamp() WHERE id = $1`, a.Pool); err != nil {
			return nil, err
		}
		_, err = tx.Exec(ctx, `UPDATE pool_workers SET idle_since = clock_timestamp() WHERE id = $1`, a.Worker)
		return changed, err // whoever waits for the slot is its worker's own session; the keeper tells when a pause is over
	})
}

// Orphans lists the attempts of workers that are gone.
func (s *Store) Orphans(ctx context.Context, limit int) ([]Action, error) {
	found, err := list(ctx, s.db, `
		SELECT `+actionColumns+` FROM pool_actions a
		WHERE a.worker_id IS NOT NULL AND NOT EXISTS (SELECT FROM pool_workers w WHERE w.id = a.worker_id AND w.state <> `+sqlGone+`)
		ORDER BY a.uid LIMIT $1`, limit)
	if err != nil {
		return nil, fmt.Errorf("read attempts of lost workers: %w", err)
	}
	return found, nil
}

// Overrun marks the attempts that exceed their time limits.
func (s *Store) Overrun(ctx context.Context) error {
	return s.inTx(ctx, "stop attempts", ForSessions, func(tx pgx.Tx) ([]int64, error) {
		return pools(ctx, tx, `
			UPDATE pool_actions SET stop = `+sqlOvertime+`, stop_at = clock_timestamp()
			WHERE run_until <= clock_timestamp() AND stop = `+sqlNoStop+` RETURNING pool_id`)
	})
}
