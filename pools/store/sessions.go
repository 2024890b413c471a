package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// notKnown is the answer to a worker that must end.
func notKnown(id string) error {
	return rpc.NotFound("worker %s does not exist", id)
}

const workerColumns = `w.id, w.pool_id, w.state, w.session, w.reason, least(w.slots, p.concurrency), w.reserve`

func (w *Worker) targets() []any {
	return []any{&w.ID, &w.Pool, &w.State, &w.Session, &w.Reason, &w.Slots, &w.Reserve}
}

// poolOf finds the pool of a worker.
const poolOf = `SELECT pool_id FROM pool_workers WHERE id = $1`

// Open begins a session of a worker: from now on only it may give the worker work. The first process that connects is the
// worker; another one with its id, and a worker that was given up, get NotFound.
func (s *Store) Open(ctx context.Context, id, incarnation, version, session string, slots uint32, lease time.Duration) (Worker, error) {
	var w Worker
	err := s.inTx(ctx, "open a session", func(tx pgx.Tx) ([]Change, error) {
		if _, err := lockOf(ctx, tx, poolOf, id); err != nil {
			return nil, err
		}
		err := tx.QueryRow(ctx, `
			UPDATE pool_workers w SET state = CASE WHEN w.state = `+sqlStarting+` THEN `+sqlLive+` ELSE w.state END,
				idle_since = CASE WHEN w.state = `+sqlStarting+` THEN clock_timestamp() ELSE w.idle_since END,
				connected_at = coalesce(w.connected_at, clock_timestamp()),
				incarnation = $2, version = $3, session = $4, slots = $5, lease_until = clock_timestamp() + $6::interval, reason = ''
			FROM worker_pools p
			WHERE p.id = w.pool_id AND w.id = $1 AND w.state <> `+sqlGone+`
				AND w.incarnation IN ('', $2) AND (w.lease_until IS NULL OR w.lease_until > clock_timestamp())
			RETURNING `+workerColumns, id, incarnation, version, session, int64(slots), lease).
			Scan(w.targets()...)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, notKnown(id)
		}
		if err != nil {
			return nil, err
		}
		_, err = tx.Exec(ctx, `UPDATE worker_pools SET failures = 0, retry_at = NULL, problem = '' WHERE id = $1 AND (failures > 0 OR problem <> '')`, w.Pool)
		return []Change{{To: ForWorker, Pool: w.Pool, Worker: w.ID}}, err // an older session ends
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

// Held returns a worker with all that it has. It returns NotFound when the worker was given up, or another session has begun.
func (s *Store) Held(ctx context.Context, id, session string) (w Worker, held []Action, err error) {
	err = s.db.QueryRow(ctx, `
		SELECT `+workerColumns+` FROM pool_workers w JOIN worker_pools p ON p.id = w.pool_id
		WHERE w.id = $1 AND w.session = $2 AND w.state <> `+sqlGone+` AND w.lease_until > clock_timestamp()`, id, session).Scan(w.targets()...)
	if errors.Is(err, pgx.ErrNoRows) {
		return w, nil, notKnown(id)
	}
	if err == nil {
		held, err = list(ctx, s.db, `SELECT `+actionColumns+` FROM pool_actions a WHERE a.worker_id = $1 ORDER BY a.uid`, id)
	}
	if err != nil {
		return w, nil, fmt.Errorf("read the attempts of a worker: %w", err)
	}
	return w, held, nil
}

// End records that a worker has ended for certain: its attempts are lost, and may run elsewhere at once.
func (s *Store) End(ctx context.Context, id, reason string) error {
	return s.inTx(ctx, "end a worker", func(tx pgx.Tx) ([]Change, error) {
		if _, err := lockOf(ctx, tx, poolOf, id); err != nil {
			return nil, err
		}
		return gone(ctx, tx, reason, `w.id = $2`, id)
	})
}

// Expire records the end of the workers whose leases are over, and returns how many there are.
func (s *Store) Expire(ctx context.Context) (expired int, err error) {
	err = s.inTx(ctx, "give up workers", func(tx pgx.Tx) ([]Change, error) {
		const over = `w.state <> ` + sqlGone + ` AND w.lease_until <= clock_timestamp()`
		if ids, err := lockOf(ctx, tx, `SELECT w.pool_id FROM pool_workers w WHERE `+over); err != nil || len(ids) == 0 {
			return nil, err
		}
		found, err := gone(ctx, tx, "it was silent for longer than its lease", over)
		for _, c := range found {
			if c.To == ForWorker {
				expired++
			}
		}
		return found, err
	})
	return expired, err
}

// Abandon records the end of all workers of clusters that were given up. Their sessions end, and they get no others.
func (s *Store) Abandon(ctx context.Context, clusters []string) error {
	return s.inTx(ctx, "give up the workers of clusters", func(tx pgx.Tx) ([]Change, error) {
		const there = `w.state <> ` + sqlGone + ` AND EXISTS (SELECT FROM worker_pools p WHERE p.id = w.pool_id AND p.cluster = ANY($%d))`
		if ids, err := lockOf(ctx, tx, `SELECT w.pool_id FROM pool_workers w WHERE `+fmt.Sprintf(there, 1), clusters); err != nil || len(ids) == 0 {
			return nil, err
		}
		return gone(ctx, tx, "its cluster was removed", fmt.Sprintf(there, 2), clusters)
	})
}

// gone records the end of workers, of which a transaction has locked the pools. One with attempts, or without a session so far, is
// a loss.
func gone(ctx context.Context, tx pgx.Tx, reason, which string, args ...any) ([]Change, error) {
	rows, err := tx.Query(ctx, `
		WITH ended AS (
			UPDATE pool_workers w SET state = `+sqlGone+`, gone_at = clock_timestamp(), reason = $1
			WHERE w.state <> `+sqlGone+` AND `+which+` RETURNING w.pool_id, w.id,
				w.connected_at IS NULL OR EXISTS (SELECT FROM pool_actions a WHERE a.worker_id = w.id) AS lost),
		counted AS (
			UPDATE worker_pools p SET losses = p.losses + l.losses
			FROM (SELECT pool_id, count(*) AS losses FROM ended WHERE lost GROUP BY pool_id) l WHERE p.id = l.pool_id)
		SELECT pool_id, id FROM ended`, append([]any{reason}, args...)...)
	if err != nil {
		return nil, err
	}
	var found []Change
	c := Change{To: ForWorker}
	_, err = pgx.ForEachRow(rows, []any{&c.Pool, &c.Worker}, func() error {
		found = append(found, c, Change{To: ForFleets, Pool: c.Pool})
		return nil
	})
	return found, err
}
