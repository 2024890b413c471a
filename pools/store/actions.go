package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/flyte-binary/flyte-binary/pools/size"
)

// Offer adds actions, and their pools if these are new. It reports which actions are new: an action that is stored stays as it
// is, since the rest of the system only knows how it began, unless it is offered to another cluster now. It sets the pools of the
// offers. template encodes the assignment of an offer for the pods of its pool.
func (s *Store) Offer(ctx context.Context, offers []Offered, template func(at int) ([]byte, error)) (added []bool, err error) {
	added = make([]bool, len(offers))
	err = pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		ids, err := poolIDs(ctx, tx, offers, template)
		if err != nil {
			return err
		}
		if err := move(ctx, tx, offers, ids); err != nil {
			return err
		}
		statements := &pgx.Batch{}
		// What a crash forgets of it, the next snapshot of assignments brings again.
		statements.Queue(`SET LOCAL synchronous_commit = off`)
		for i := range offers {
			o, run := &offers[i].Action, &offers[i].Action.Action.Run
			o.Pool = ids[i]
			statements.Queue(`
				INSERT INTO pool_actions (uid, pool_id, project, domain, run, name, ancestors, priority, queued_at, attempt, user_failures, system_failures, not_before, nested)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, CASE WHEN $13 THEN clock_timestamp() + interval '1 minute' END, EXISTS (
					SELECT FROM pool_actions h WHERE h.pool_id = $2 AND (h.project, h.domain, h.run) = ($3, $4, $5) AND h.name = ANY($7) AND h.worker_id IS NOT NULL))
				ON CONFLICT (uid) DO NOTHING`,
				o.UID, ids[i], run.Project, run.Domain, run.Name, o.Action.Name, append([]string{}, o.Ancestors...), o.Priority, o.QueuedAt,
				o.Attempt, o.UserFailures, o.SystemFailures, offers[i].Begun).Exec(func(tag pgconn.CommandTag) error {
				added[i] = tag.RowsAffected() > 0
				return nil
			})
		}
		if err := tx.SendBatch(ctx, statements).Close(); err != nil {
			return err
		}
		news := map[int64]int{}
		for i, isNew := range added {
			if isNew {
				news[ids[i]]++
			}
		}
		for id, n := range news {
			if err := notify(ctx, tx, Change{To: ForWork, Pool: id, Work: n}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("offer actions: %w", err)
	}
	return added, nil
}

// poolIDs returns the pool of each offer, and notes that it has work.
func poolIDs(ctx context.Context, tx pgx.Tx, offers []Offered, template func(at int) ([]byte, error)) ([]int64, error) {
	known, ids := map[size.Key]int64{}, make([]int64, len(offers))
	first := map[size.Key]int{}
	for i := range offers {
		if _, ok := first[offers[i].Key]; !ok {
			first[offers[i].Key] = i
		}
	}
	// Two transactions must not wait for each other's pools.
	for _, k := range slices.SortedFunc(maps.Keys(first), size.Compare) {
		id, err := poolID(ctx, tx, k, &offers[first[k]], func() ([]byte, error) { return template(first[k]) })
		if err != nil {
			return nil, err
		}
		known[k] = id
	}
	for i := range offers {
		ids[i] = known[offers[i].Key]
	}
	return ids, nil
}

func poolID(ctx context.Context, tx pgx.Tx, k size.Key, o *Offered, template func() ([]byte, error)) (id int64, err error) {
	err = tx.QueryRow(ctx, `
		UPDATE worker_pools SET worked_at = clock_timestamp()
		WHERE (cluster, project, domain, name, version, run) = ($1, $2, $3, $4, $5, $6) RETURNING id`,
		k.Cluster, k.Project, k.Domain, k.Name, k.Version, k.Run).Scan(&id)
	if !errors.Is(err, pgx.ErrNoRows) {
		return id, err
	}
	encoded, err := template()
	if err != nil {
		return 0, err
	}
	p := &o.Policy
	err = tx.QueryRow(ctx, `
		INSERT INTO worker_pools AS p (cluster, project, domain, name, version, run, min_replicas, max_replicas, concurrency, idle_ttl, scaledown_ttl, template)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (cluster, project, domain, name, version, run) DO UPDATE SET worked_at = clock_timestamp()
		RETURNING id`,
		k.Cluster, k.Project, k.Domain, k.Name, k.Version, k.Run, p.Min, p.Max, p.Concurrency, p.IdleTTL, p.ScaledownTTL, encoded).Scan(&id)
	return id, err
}

// Release forgets actions that have ended otherwise. What a worker has of them is kept until the worker has ended it.
func (s *Store) Release(ctx context.Context, uids ...int64) error {
	return s.inTx(ctx, "release actions", func(tx pgx.Tx) ([]Change, error) {
		if ids, err := lockOf(ctx, tx, `SELECT pool_id FROM pool_actions WHERE uid = ANY($1)`, uids); err != nil || len(ids) == 0 {
			return nil, err
		}
		dropped, err := pools(ctx, tx, `DELETE FROM pool_actions WHERE uid = ANY($1) AND worker_id IS NULL RETURNING pool_id`, uids)
		if err != nil {
			return nil, err
		}
		return stopped(ctx, tx, changes(ForKeeper, dropped), `
			UPDATE pool_actions SET stop = `+sqlReleased+`, stop_at = clock_timestamp()
			WHERE uid = ANY($1) AND worker_id IS NOT NULL AND stop <> `+sqlReleased+` RETURNING pool_id, worker_id`, uids)
	})
}

// stopped adds the workers that a statement returns, which should stop something.
func stopped(ctx context.Context, tx pgx.Tx, known []Change, query string, args ...any) ([]Change, error) {
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Change, error) {
		c := Change{To: ForWorker}
		return c, row.Scan(&c.Pool, &c.Worker)
	})
	return append(known, found...), err
}

// Unreleased lists the uids of all actions that were not released.
func (s *Store) Unreleased(ctx context.Context) ([]int64, error) {
	rows, err := s.db.Query(ctx, `SELECT uid FROM pool_actions WHERE stop <> `+sqlReleased)
	if err != nil {
		return nil, fmt.Errorf("read actions of pools: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// Orphan is an attempt of a worker that is gone.
type Orphan struct {
	Action
	// OutOfMemory means that the worker ran out of memory.
	OutOfMemory bool
	// Blamed is the uid of the action that used it; 0 if that is not known.
	Blamed int64
}

// Orphans lists the attempts of workers that are gone.
func (s *Store) Orphans(ctx context.Context, limit int) ([]Orphan, error) {
	rows, err := s.db.Query(ctx, `
		SELECT `+actionColumns+`, coalesce(w.out_of_memory, false), coalesce(w.blamed, 0)
		FROM pool_actions a LEFT JOIN pool_workers w ON w.id = a.worker_id
		WHERE a.worker_id IS NOT NULL AND coalesce(w.state, `+sqlGone+`) = `+sqlGone+`
		ORDER BY a.uid LIMIT $1`, limit)
	if err != nil {
		return nil, fmt.Errorf("read attempts of lost workers: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Orphan, error) {
		var o Orphan
		return o, row.Scan(append(o.targets(), &o.OutOfMemory, &o.Blamed)...)
	})
	if err != nil {
		return nil, fmt.Errorf("read attempts of lost workers: %w", err)
	}
	return found, nil
}

// Overrun marks the attempts that exceed their time limits.
func (s *Store) Overrun(ctx context.Context) error {
	return s.inTx(ctx, "stop attempts", func(tx pgx.Tx) ([]Change, error) {
		const over = `run_until <= clock_timestamp() AND stop = ` + sqlNoStop
		if ids, err := lockOf(ctx, tx, `SELECT pool_id FROM pool_actions WHERE `+over); err != nil || len(ids) == 0 {
			return nil, err
		}
		return stopped(ctx, tx, nil, `UPDATE pool_actions SET stop = `+sqlOvertime+`, stop_at = clock_timestamp() WHERE `+over+` RETURNING pool_id, worker_id`)
	})
}
