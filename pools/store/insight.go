package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/flyte-binary/flyte-binary/internal/pg/listquery"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/pools/size"
)

// maxAhead is how far the actions before a waiting one are counted.
const maxAhead = 10_000

// Standing is what explains why an action waits for a worker.
type Standing struct {
	Sized
	Action
	Trouble size.Trouble
	// Ahead is how many actions go before it, at most 10,000.
	Ahead int
}

// Standing reads why an action of a pool may wait. It returns NotFound for an action that no pool has.
func (s *Store) Standing(ctx context.Context, uid int64) (*Standing, error) {
	found, err := list(ctx, s.db, `SELECT `+actionColumns+` FROM pool_actions a WHERE a.uid = $1`, uid)
	if err != nil {
		return nil, fmt.Errorf("read an action of a pool: %w", err)
	}
	if len(found) == 0 {
		return nil, rpc.NotFound("action %d is not in any pool", uid)
	}
	a := &Standing{Action: found[0]}
	sizes, err := s.sizes(ctx, `p.id = $1`, a.Action.Pool)
	if err != nil {
		return nil, err
	}
	if len(sizes) == 0 {
		return nil, rpc.NotFound("action %d is not in any pool", uid)
	}
	a.Sized = sizes[0]
	err = s.db.QueryRow(ctx, `
		SELECT p.problem, coalesce(p.retry_at, 'epoch'), (SELECT count(*) FROM (
			SELECT FROM pool_actions o WHERE o.pool_id = p.id AND o.worker_id IS NULL AND o.uid <> $2
				AND (o.not_before IS NULL OR o.not_before <= clock_timestamp())
				AND (NOT o.nested, -o.priority, o.queued_at, o.uid) < (NOT $3::boolean, -$4::integer, $5::timestamptz, $2) LIMIT $6) AS o)
		FROM worker_pools p WHERE p.id = $1`, a.Action.Pool, uid, a.Nested, a.Priority, a.QueuedAt, maxAhead).
		Scan(&a.Trouble.Reason, &a.Trouble.RetryAt, &a.Ahead)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("count the actions ahead: %w", err)
	}
	return a, nil
}

// PoolFigures is a pool as people see it.
type PoolFigures struct {
	ID         int64
	Key        size.Key
	Policy     size.Policy
	Starting   int
	Live       int
	Draining   int
	Running    int
	Waiting    int
	Attempts   int64 // that workers have or had
	WarmHits   int64
	Starts     int64
	Losses     int64
	SlowStarts int64
	SlowStart  string // why the latest of them was slow
	Trouble    size.Trouble
	Created    time.Time
	LastWorked time.Time
}

// ListPools reads a page of pools, the newest first, and the token of the next page. The scope of the call narrows it. Empty
// project, domain, environment and cluster mean all.
func (s *Store) ListPools(ctx context.Context, project, domain, environment, cluster string, limit int, token string) ([]PoolFigures, string, error) {
	var b listquery.Builder
	listquery.Narrow(ctx, &b, "p.project", "p.domain")
	for column, value := range map[string]string{"p.project": project, "p.domain": domain, "p.name": environment, "p.cluster": cluster} {
		if value != "" {
			b.Equal(column, value)
		}
	}
	switch before, err := listquery.Number(token); {
	case err != nil:
		return nil, "", err
	case before > 0:
		b.Where("p.id < " + b.Arg(before, "bigint"))
	}
	rows, err := s.db.Query(ctx, `
		SELECT p.id, p.cluster, p.project, p.domain, p.name, p.version, p.run, p.min_replicas, p.max_replicas, p.concurrency, p.idle_ttl, p.scaledown_ttl,
			w.starting, w.live, w.draining, a.running, a.waiting, p.attempts + a.running, p.warm_hits + a.warm, p.starts, p.losses,
			p.slow_starts, p.slow_start, p.problem, coalesce(p.retry_at, 'epoch'), p.created_at, p.worked_at
		FROM worker_pools p,
			LATERAL (SELECT count(*) FILTER (WHERE state = `+sqlStarting+`) AS starting, count(*) FILTER (WHERE state = `+sqlLive+`) AS live,
				count(*) FILTER (WHERE state = `+sqlDraining+`) AS draining FROM pool_workers WHERE pool_id = p.id) w,
			LATERAL (SELECT count(worker_id) AS running, count(*) FILTER (WHERE worker_id IS NULL) AS waiting, count(*) FILTER (WHERE warm_hit) AS warm
				FROM pool_actions WHERE pool_id = p.id) a
		WHERE `+b.Conditions()+` ORDER BY p.id DESC LIMIT `+b.Arg(limit+1, "bigint"), b.Args()...)
	if err != nil {
		return nil, "", fmt.Errorf("list pools: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (PoolFigures, error) {
		var f PoolFigures
		return f, row.Scan(&f.ID, &f.Key.Cluster, &f.Key.Project, &f.Key.Domain, &f.Key.Name, &f.Key.Version, &f.Key.Run, &f.Policy.Min, &f.Policy.Max,
			&f.Policy.Concurrency, &f.Policy.IdleTTL, &f.Policy.ScaledownTTL, &f.Starting, &f.Live, &f.Draining, &f.Running, &f.Waiting, &f.Attempts,
			&f.WarmHits, &f.Starts, &f.Losses, &f.SlowStarts, &f.SlowStart, &f.Trouble.Reason, &f.Trouble.RetryAt, &f.Created, &f.LastWorked)
	})
	if err != nil {
		return nil, "", fmt.Errorf("list pools: %w", err)
	}
	found, next := listquery.NumberPage(found, limit, func(f PoolFigures) int64 { return f.ID })
	return found, next, nil
}

// WorkerFigures is a worker as people see it.
type WorkerFigures struct {
	Worker
	Version                       string
	Given                         int64 // attempts that it has or had
	Created                       time.Time
	Connected, GoneAt, LeaseUntil *time.Time
	Has                           []Action
}

// attemptsShown bounds the attempts that are read for one worker.
const attemptsShown = 100

// ListWorkers reads a page of the workers of a pool, the newest first, and the token of the next page. It returns NotFound when
// the project and domain have no such pool.
func (s *Store) ListWorkers(ctx context.Context, project, domain string, id int64, limit int, token string) ([]WorkerFigures, string, error) {
	var known bool
	if err := s.db.QueryRow(ctx, `SELECT EXISTS (SELECT FROM worker_pools WHERE id = $1 AND project = $2 AND domain = $3)`, id, project, domain).
		Scan(&known); err != nil {
		return nil, "", fmt.Errorf("read a pool: %w", err)
	}
	if !known {
		return nil, "", rpc.NotFound("pool %[3]d does not exist in %[1]s/%[2]s", project, domain, id)
	}
	offset, err := listquery.Number(token)
	if err != nil {
		return nil, "", err
	}
	rows, err := s.db.Query(ctx, `
		SELECT `+workerColumns+`, w.version, w.given + (SELECT count(*) FROM pool_actions a WHERE a.worker_id = w.id), w.created_at, w.connected_at, w.gone_at, w.lease_until
		FROM pool_workers w JOIN worker_pools p ON p.id = w.pool_id WHERE w.pool_id = $1
		ORDER BY w.state = `+sqlGone+`, w.created_at DESC, w.id LIMIT $2 OFFSET $3`, id, limit+1, offset)
	if err != nil {
		return nil, "", fmt.Errorf("list workers: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (WorkerFigures, error) {
		var f WorkerFigures
		return f, row.Scan(append(f.targets(), &f.Version, &f.Given, &f.Created, &f.Connected, &f.GoneAt, &f.LeaseUntil)...)
	})
	if err != nil {
		return nil, "", fmt.Errorf("list workers: %w", err)
	}
	next := ""
	if len(found) > limit {
		found, next = found[:limit], listquery.NumberToken(offset+int64(limit))
	}
	return found, next, s.has(ctx, found)
}

// has reads what workers have.
func (s *Store) has(ctx context.Context, workers []WorkerFigures) error {
	var ids []string
	at := map[string]int{}
	for i := range workers {
		ids, at[workers[i].ID] = append(ids, workers[i].ID), i
	}
	actions, err := list(ctx, s.db, `
		SELECT `+actionColumns+` FROM unnest($1::text[]) AS w(id), LATERAL (
			SELECT * FROM pool_actions WHERE worker_id = w.id ORDER BY claimed_at, uid LIMIT $2) a ORDER BY a.claimed_at, a.uid`, ids, attemptsShown)
	if err != nil {
		return fmt.Errorf("list the attempts of workers: %w", err)
	}
	for _, a := range actions {
		w := &workers[at[a.Worker]]
		w.Has = append(w.Has, a)
	}
	return nil
}

// Figures are how many pools, workers and actions there are.
type Figures struct {
	Pools, Starting, Live, Draining int64
	// Slots are those of live workers.
	Slots          int64
	Taken, Waiting int64
}

// Figures counts everything.
func (s *Store) Figures(ctx context.Context) (f Figures, err error) {
	err = s.db.QueryRow(ctx, `
		SELECT (SELECT count(*) FROM worker_pools), w.starting, w.live, w.draining, w.slots, a.taken, a.waiting
		FROM (
			SELECT count(*) FILTER (WHERE w.state = `+sqlStarting+`) AS starting, count(*) FILTER (WHERE w.state = `+sqlLive+`) AS live,
				count(*) FILTER (WHERE w.state = `+sqlDraining+`) AS draining,
				coalesce(sum(least(w.slots, p.concurrency)) FILTER (WHERE w.state = `+sqlLive+`), 0) AS slots
			FROM pool_workers w JOIN worker_pools p ON p.id = w.pool_id) w,
			(SELECT count(worker_id) AS taken, count(*) FILTER (WHERE worker_id IS NULL) AS waiting FROM pool_actions) a`).
		Scan(&f.Pools, &f.Starting, &f.Live, &f.Draining, &f.Slots, &f.Taken, &f.Waiting)
	if err != nil {
		return f, fmt.Errorf("count workers: %w", err)
	}
	return f, nil
}
