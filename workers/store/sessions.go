package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/rpc"
)

// notKnown is the answer to a worker that must end.
func notKnown(id string) error {
	return rpc.NotFound("worker %s is not known, or was given up", id)
}

const workerColumns = `w.id, w.pool_id, w.state, w.session, w.reason, p.concurrency`

// Open begins a session of a worker: from now on only it may give the worker work. The first process that connects is the
// worker; another one with its id, and a worker that was given up, get NotFound.
func (s *Store) Open(ctx context.Context, id string, tokenHash []byte, incarnation, version, session string, slots uint32, lease time.Duration) (Worker, error) {
	var w Worker
	err := s.inTx(ctx, "open a session", ForSessions, func(tx pgx.Tx) ([]int64, error) {
		err := tx.QueryRow(ctx, `
			UPDATE pool_workers w SET state = CASE WHEN w.state = `+sqlStarting+` THEN `+sqlLive+` ELSE w.state END,
				idle_since = CASE WHEN w.state = `+sqlStarting+` THEN clock_timestamp() ELSE w.idle_since END,
				incarnation = $3, version = $4, session = $5, slots = $6, lease_until = clock_timestamp() + $7::interval, reason = ''
			FROM worker_pools p
			WHERE p.id = w.pool_id AND w.id = $1 AND w.token_hash = $2 AND w.token_hash <> '' AND w.state <> `+sqlGone+`
				AND w.incarnation IN ('', $3) AND (w.lease_until IS NULL OR w.lease_until > clock_timestamp())
			RETURNING `+workerColumns, id, tokenHash, incarnation, version, session, int64(slots), lease).
			Scan(&w.ID, &w.Pool, &w.State, &w.Session, &w.Reason, &w.Concurrency)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, notKnown(id)
		}
		if err != nil {
			return nil, err
		}
		_, err = tx.Exec(ctx, `UPDATE worker_pools SET failures = 0, retry_at = NULL, problem = '' WHERE id = $1 AND (failures > 0 OR problem <> '')`, w.Pool)
		return []int64{w.Pool}, err
	})
	return w, err
}

// Renew extends the lease of a worker from now on. It returns NotFound when the worker was given up, or another session has
// begun: in both cases this one ends.
func (s *Store) Renew(ctx context.Context, id, session string, slots uint32, lease time.Duration) error {
	tag, err := s.db.Exec(ctx, `
		UPDATE pool_workers SET lease_until = clock_timestamp() + $4::interval, slots = $3
		WHERE id = $1 AND session = $2 AND state <> `+sqlGone+` AND lease_until > clock_timestamp()`, id, session, int64(slots), lease)
	if err != nil {
		return fmt.Errorf("renew the lease of a worker: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return notKnown(id)
	}
	return nil
}

// Claim gives a worker waiting actions while it has free slots, and returns all that it has, with its state.
func (s *Store) Claim(ctx context.Context, id, session string) (w Worker, held []Action, err error) {
	err = s.inTx(ctx, "claim work", ForKeeper, func(tx pgx.Tx) ([]int64, error) {
		var slots int64
		err := tx.QueryRow(ctx, `
			SELECT `+workerColumns+`, w.slots FROM pool_workers w JOIN worker_pools p ON p.id = w.pool_id
			WHERE w.id = $1 AND w.session = $2 AND w.state <> `+sqlGone+` AND w.lease_until > clock_timestamp() FOR UPDATE OF w`, id, session).
			Scan(&w.ID, &w.Pool, &w.State, &w.Session, &w.Reason, &w.Concurrency, &slots)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, notKnown(id)
		}
		if err != nil {
			return nil, err
		}
		if held, err = list(ctx, tx, `SELECT `+actionColumns+` FROM pool_actions a WHERE a.worker_id = $1 ORDER BY a.uid`, id); err != nil {
			return nil, err
		}
		free := min(slots, int64(w.Concurrency)) - int64(len(held))
		if w.State != Live || free <= 0 {
			return nil, nil
		}
		// The order is that of pool.Before.
		claimed, err := list(ctx, tx, `
			UPDATE pool_actions a SET worker_id = $1 FROM (
				SELECT uid FROM pool_actions
				WHERE pool_id = $2 AND worker_id IS NULL AND (not_before IS NULL OR not_before <= clock_timestamp())
				ORDER BY nested DESC, priority DESC, queued_at, uid LIMIT $3 FOR UPDATE SKIP LOCKED) next
			WHERE a.uid = next.uid RETURNING `+actionColumns, id, w.Pool, free)
		if err != nil || len(claimed) == 0 {
			return nil, err
		}
		held = append(held, claimed...)
		return nil, nil
	})
	return w, held, err
}

// End records that a worker has ended for certain: its attempts are lost, and may run elsewhere at once.
func (s *Store) End(ctx context.Context, id, reason string) error {
	return s.inTx(ctx, "end a worker", ForFleets, func(tx pgx.Tx) ([]int64, error) {
		return pools(ctx, tx, `
			UPDATE pool_workers SET state = `+sqlGone+`, gone_at = clock_timestamp(), reason = $2 WHERE id = $1 AND state <> `+sqlGone+` RETURNING pool_id`, id, reason)
	})
}

// Expire records the end of the workers whose leases are over.
func (s *Store) Expire(ctx context.Context) error {
	return s.inTx(ctx, "give up workers", ForFleets, func(tx pgx.Tx) ([]int64, error) {
		return pools(ctx, tx, `
			UPDATE pool_workers SET state = `+sqlGone+`, gone_at = clock_timestamp(), reason = 'it was silent for longer than its lease'
			WHERE state <> `+sqlGone+` AND lease_until <= clock_timestamp() RETURNING pool_id`)
	})
}
