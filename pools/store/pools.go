package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/pools/size"
)

// Sized is a pool as pool.Decide takes it.
type Sized struct {
	ID      int64
	Cluster string
	size.Pool
	// Now is the time at which it was so.
	Now time.Time
	// RetryAt is before when no worker may be created; zero for any time.
	RetryAt time.Time
}

// Sizes reads all pools, with those of their workers that take work.
func (s *Store) Sizes(ctx context.Context) ([]Sized, error) { return s.sizes(ctx, `true`) }

// sizes reads the pools p for which a condition holds.
func (s *Store) sizes(ctx context.Context, which string, args ...any) ([]Sized, error) {
	rows, err := s.db.Query(ctx, `
		SELECT p.id, p.cluster, p.min_replicas, p.max_replicas, p.concurrency, p.idle_ttl, p.scaledown_ttl, p.worked_at, clock_timestamp(), coalesce(p.retry_at, 'epoch'),
			(SELECT count(*) FROM pool_actions a WHERE a.pool_id = p.id AND a.worker_id IS NULL AND (a.not_before IS NULL OR a.not_before <= clock_timestamp()))
		FROM worker_pools p WHERE `+which+` ORDER BY p.id`, args...)
	if err != nil {
		return nil, fmt.Errorf("read pools: %w", err)
	}
	sizes, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Sized, error) {
		var z Sized
		return z, row.Scan(&z.ID, &z.Cluster, &z.Policy.Min, &z.Policy.Max, &z.Policy.Concurrency, &z.Policy.IdleTTL, &z.Policy.ScaledownTTL, &z.LastWork, &z.Now, &z.RetryAt, &z.Waiting)
	})
	if err != nil {
		return nil, fmt.Errorf("read pools: %w", err)
	}
	index := make(map[int64]*Sized, len(sizes))
	for i := range sizes {
		index[sizes[i].ID] = &sizes[i]
	}
	rows, err = s.db.Query(ctx, `
		WITH wanted AS ( -- the actions for which descendants wait
			SELECT DISTINCT a.pool_id, a.project, a.domain, a.run, unnest(a.ancestors) AS name FROM pool_actions a WHERE a.worker_id IS NULL AND a.nested)
		SELECT w.pool_id, w.id, w.state <> `+sqlStarting+`, CASE WHEN w.state = `+sqlStarting+` THEN p.concurrency ELSE least(w.slots, p.concurrency) END,
			w.idle_since, w.reserve, count(h.uid), count(b.name)
		FROM pool_workers w JOIN worker_pools p ON p.id = w.pool_id
		LEFT JOIN pool_actions h ON h.worker_id = w.id
		LEFT JOIN wanted b ON (b.pool_id, b.project, b.domain, b.run, b.name) = (h.pool_id, h.project, h.domain, h.run, h.name)
		WHERE w.state IN (`+sqlStarting+`, `+sqlLive+`) AND `+which+`
		GROUP BY w.pool_id, w.id, p.concurrency ORDER BY w.id`, args...)
	if err != nil {
		return nil, fmt.Errorf("read workers: %w", err)
	}
	var id int64
	var w size.Worker
	_, err = pgx.ForEachRow(rows, []any{&id, &w.ID, &w.Started, &w.Slots, &w.Since, &w.Reserve, &w.Busy, &w.Blocked}, func() error {
		if z := index[id]; z != nil && w.Slots > 0 { // a worker without slots is about to exit
			z.Workers = append(z.Workers, w)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read workers: %w", err)
	}
	return sizes, nil
}

// Resize adds workers to a pool and drains others, if they have no work; a worker that has not started needs no draining. reserve
// are those that take nested actions only; nil leaves that as it is.
func (s *Store) Resize(ctx context.Context, id int64, create, drain, reserve []string) error {
	return s.inTx(ctx, "resize a pool", func(tx pgx.Tx) ([]Change, error) {
		if err := lock(ctx, tx, id); err != nil {
			return nil, err
		}
		for _, worker := range create {
			if _, err := tx.Exec(ctx, `INSERT INTO pool_workers (id, pool_id, state) VALUES ($1, $2, `+sqlStarting+`)`, worker, id); err != nil {
				return nil, err
			}
		}
		if _, err := tx.Exec(ctx, `UPDATE worker_pools SET starts = starts + $2 WHERE id = $1 AND $2 > 0`, id, len(create)); err != nil {
			return nil, err
		}
		found := []Change{{To: ForFleets, Pool: id}}
		if reserve != nil {
			var err error
			if found, err = stopped(ctx, tx, found, `
				UPDATE pool_workers SET reserve = id = ANY($2) WHERE pool_id = $1 AND reserve <> (id = ANY($2)) RETURNING pool_id, id`, id, reserve); err != nil {
				return nil, err
			}
		}
		return stopped(ctx, tx, found, `
			UPDATE pool_workers w SET state = CASE WHEN w.state = `+sqlStarting+` THEN `+sqlGone+` ELSE `+sqlDraining+` END,
				gone_at = CASE WHEN w.state = `+sqlStarting+` THEN clock_timestamp() END
			WHERE w.id = ANY($1) AND w.state IN (`+sqlStarting+`, `+sqlLive+`) AND NOT EXISTS (SELECT FROM pool_actions a WHERE a.worker_id = w.id)
			RETURNING w.pool_id, w.id`, drain)
	})
}

// Sweep forgets workers that are gone and hold nothing, and pools that had no work for longer than age and have no workers.
func (s *Store) Sweep(ctx context.Context, age time.Duration) error {
	_, err := s.db.Exec(ctx, `
		DELETE FROM pool_workers w WHERE w.state = `+sqlGone+` AND w.gone_at < clock_timestamp() - $1::interval
			AND NOT EXISTS (SELECT FROM pool_actions a WHERE a.worker_id = w.id)`, age)
	if err != nil {
		return fmt.Errorf("forget workers: %w", err)
	}
	_, err = s.db.Exec(ctx, `
		DELETE FROM worker_pools p WHERE p.worked_at < clock_timestamp() - $1::interval
			AND NOT EXISTS (SELECT FROM pool_workers w WHERE w.pool_id = p.id) AND NOT EXISTS (SELECT FROM pool_actions a WHERE a.pool_id = p.id)`, age)
	if err != nil {
		return fmt.Errorf("forget pools: %w", err)
	}
	return nil
}

// Due returns how long it takes until a lease, a time limit or a pause is over; false if there is none.
func (s *Store) Due(ctx context.Context) (time.Duration, bool, error) {
	var left *time.Duration
	err := s.db.QueryRow(ctx, `
		SELECT least(
			(SELECT min(lease_until) FROM pool_workers WHERE state <> `+sqlGone+`),
			(SELECT min(run_until) FROM pool_actions WHERE stop = `+sqlNoStop+`),
			(SELECT min(not_before) FROM pool_actions WHERE worker_id IS NULL AND not_before > clock_timestamp()),
			(SELECT min(retry_at) FROM worker_pools WHERE retry_at > clock_timestamp())) - clock_timestamp()`).Scan(&left)
	if err != nil {
		return 0, false, fmt.Errorf("read what is due: %w", err)
	}
	if left == nil {
		return 0, false, nil
	}
	return max(0, *left), true, nil
}

// Announce tells the sessions of pools whose waiting actions may begin now, since a pause is over.
func (s *Store) Announce(ctx context.Context) error {
	return s.inTx(ctx, "announce", func(tx pgx.Tx) ([]Change, error) {
		rows, err := tx.Query(ctx, `SELECT pool_id, count(*) FROM pool_actions
			WHERE worker_id IS NULL AND not_before BETWEEN clock_timestamp() - interval '1 minute' AND clock_timestamp() GROUP BY pool_id`)
		if err != nil {
			return nil, err
		}
		return pgx.CollectRows(rows, func(row pgx.CollectableRow) (Change, error) {
			c := Change{To: ForWork}
			return c, row.Scan(&c.Pool, &c.Work)
		})
	})
}

// Desired is a worker that should run.
type Desired struct {
	ID          string
	Concurrency int32
	// Template is the encoded assignment of the pool's first action.
	Template []byte
}

// Desired lists the workers that a cluster should run.
func (s *Store) Desired(ctx context.Context, cluster string) ([]Desired, error) {
	rows, err := s.db.Query(ctx, `
		SELECT w.id, p.concurrency, p.template FROM pool_workers w JOIN worker_pools p ON p.id = w.pool_id
		WHERE p.cluster = $1 AND w.state <> `+sqlGone+` ORDER BY w.id`, cluster)
	if err != nil {
		return nil, fmt.Errorf("read workers: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Desired])
}

// ByToken finds a worker and its pool by the hash of the worker's token. Workers that were given up are found too, until their
// rows are deleted. It returns NotFound when there is none.
func (s *Store) ByToken(ctx context.Context, hash []byte) (id, cluster string, pool authz.Pool, err error) {
	err = s.db.QueryRow(ctx, `
		SELECT w.id, p.cluster, p.project, p.domain, p.name, p.id FROM pool_workers w JOIN worker_pools p ON p.id = w.pool_id
		WHERE w.token_hash = $1 AND w.token_hash <> ''`, hash).Scan(&id, &cluster, &pool.Project, &pool.Domain, &pool.Name, &pool.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", "", pool, rpc.NotFound("no worker has this token")
	}
	if err != nil {
		return "", "", pool, fmt.Errorf("find a worker by its token: %w", err)
	}
	return id, cluster, pool, nil
}

// SetToken replaces the credential of a worker that has not connected yet, and reports whether there is such a worker.
func (s *Store) SetToken(ctx context.Context, id, cluster string, hash []byte) (bool, error) {
	tag, err := s.db.Exec(ctx, `UPDATE pool_workers w SET token_hash = $2 WHERE id = $1 AND state = `+sqlStarting+`
		AND ($3 = '' OR EXISTS (SELECT FROM worker_pools p WHERE p.id = w.pool_id AND p.cluster = $3))`, id, hash, cluster)
	if err != nil {
		return false, fmt.Errorf("store the token of a worker: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// Location is where a worker runs, and for what.
type Location struct{ Cluster, Project, Domain string }

// Locate says where a worker that is not gone runs. It fails with NotFound.
func (s *Store) Locate(ctx context.Context, id string) (at Location, err error) {
	err = s.db.QueryRow(ctx, `SELECT p.cluster, p.project, p.domain FROM pool_workers w JOIN worker_pools p ON p.id = w.pool_id
		WHERE w.id = $1 AND w.state <> `+sqlGone, id).Scan(&at.Cluster, &at.Project, &at.Domain)
	if errors.Is(err, pgx.ErrNoRows) {
		return Location{}, rpc.NotFound("worker %s does not exist", id)
	}
	if err != nil {
		return Location{}, fmt.Errorf("locate a worker: %w", err)
	}
	return at, nil
}

// Observed is what a cluster knows of a worker.
type Observed struct {
	ID string
	// Ended means that none of its processes runs, and none will.
	Ended bool
	// Reason says why it does not run.
	Reason string
	// OutOfMemory means that it ran out of memory.
	OutOfMemory bool
	// Reporter is the cluster whose controller reports it, which knows no workers of others; empty for a service of the installation.
	Reporter string
}

// Report records why a worker does not run. One that has ended before it worked delays the next worker of its pool. One that has
// ended for lack of memory blames the action that used it, if that is known.
func (s *Store) Report(ctx context.Context, o Observed, pause func(failures int) time.Duration) error {
	id, reason := o.ID, o.Reason
	return s.inTx(ctx, "record the state of a worker", func(tx pgx.Tx) ([]Change, error) {
		if _, err := lockOf(ctx, tx, poolOf, id); err != nil {
			return nil, err
		}
		var pool int64
		var state WorkerState
		var failures int
		var cluster string
		err := tx.QueryRow(ctx, `
			SELECT w.pool_id, w.state, p.failures, p.cluster FROM pool_workers w JOIN worker_pools p ON p.id = w.pool_id WHERE w.id = $1`, id).
			Scan(&pool, &state, &failures, &cluster)
		if errors.Is(err, pgx.ErrNoRows) || err == nil && (state == Gone || o.Reporter != "" && o.Reporter != cluster) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if !o.Ended {
			if _, err = tx.Exec(ctx, `UPDATE pool_workers SET reason = $2 WHERE id = $1`, id, reason); err == nil {
				_, err = tx.Exec(ctx, `UPDATE worker_pools SET problem = $2 WHERE id = $1`, pool, reason)
			}
			return nil, err
		}
		if state == Starting {
			if _, err := tx.Exec(ctx, `UPDATE worker_pools SET failures = failures + 1, retry_at = clock_timestamp() + $2::interval, problem = $3 WHERE id = $1`,
				pool, pause(failures+1), reason); err != nil {
				return nil, err
			}
		}
		if o.OutOfMemory {
			if _, err := tx.Exec(ctx, blame, id); err != nil {
				return nil, err
			}
		}
		return gone(ctx, tx, reason, `w.id = $2`, id)
	})
}

// blame finds out, when a worker has run out of memory, which of its actions used it: the only one that it had, or the only one whose
// process had run for long enough to be recorded. Memory of several attempts in one process cannot be attributed.
const blame = `
	UPDATE pool_workers SET out_of_memory = true, blamed = coalesce((
		SELECT CASE WHEN count(*) = 1 THEN min(uid) WHEN count(begun_at) = 1 THEN min(uid) FILTER (WHERE begun_at IS NOT NULL) END
		FROM pool_actions WHERE worker_id = $1), 0)
	WHERE id = $1`

// OnClusters counts the workers that are not gone, by their cluster.
func (s *Store) OnClusters(ctx context.Context) (map[string]int, error) {
	rows, err := s.db.Query(ctx, `SELECT p.cluster, count(*) FROM pool_workers w JOIN worker_pools p ON p.id = w.pool_id
		WHERE w.state <> `+sqlGone+` GROUP BY p.cluster`)
	if err != nil {
		return nil, fmt.Errorf("count the workers of clusters: %w", err)
	}
	found := map[string]int{}
	var cluster string
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&cluster, &n}, func() error { found[cluster] = n; return nil }); err != nil {
		return nil, fmt.Errorf("count the workers of clusters: %w", err)
	}
	return found, nil
}
