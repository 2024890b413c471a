package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Reported is what one gateway reports of one app.
type Reported struct {
	UID               string
	Window            time.Duration
	Requests, Errors  int64
	Concurrency, Rate float64
	Busy              bool
	Latency           []int64
}

// ReportLoad replaces what a gateway reported of some apps, and adds it to the traffic of the period that begins at start.
// Apps that do not exist are left out.
func (s *Store) ReportLoad(ctx context.Context, gateway string, now, start time.Time, loads []Reported) error {
	batch := &pgx.Batch{}
	for i := range loads {
		l := &loads[i]
		batch.Queue(`INSERT INTO app_loads (app_id, gateway, reported_at, concurrency, rate, busy, busy_at)
			SELECT id, $2, $3, $4, $5, $6, CASE WHEN $6 THEN $3::timestamptz END FROM apps WHERE uid = $1
			ON CONFLICT (app_id, gateway) DO UPDATE SET reported_at = EXCLUDED.reported_at, concurrency = EXCLUDED.concurrency,
				rate = EXCLUDED.rate, busy = EXCLUDED.busy, busy_at = coalesce(EXCLUDED.busy_at, app_loads.busy_at)`, l.UID, gateway, now, l.Concurrency, l.Rate, l.Busy)
		batch.Queue(`INSERT INTO app_traffic (app_id, start, requests, errors, concurrency, latency, replicas)
			SELECT id, $2, $3, $4, $5, $6, ready FROM apps WHERE uid = $1
			ON CONFLICT (app_id, start) DO UPDATE SET requests = app_traffic.requests + EXCLUDED.requests,
				errors = app_traffic.errors + EXCLUDED.errors, replicas = EXCLUDED.replicas, concurrency = app_traffic.concurrency + EXCLUDED.concurrency,
				latency = (SELECT coalesce(array_agg(coalesce(a, 0) + coalesce(b, 0) ORDER BY n), '{}')
					FROM ROWS FROM (unnest(app_traffic.latency), unnest(EXCLUDED.latency)) WITH ORDINALITY AS u(a, b, n))`,
			l.UID, start, l.Requests, l.Errors, l.Concurrency*l.Window.Seconds(), l.Latency)
	}
	// One transaction, in the order of the uids, so that reports of several gateways do not deadlock.
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return tx.SendBatch(ctx, batch).Close() })
	if err != nil {
		return fmt.Errorf("report the load of apps: %w", err)
	}
	return nil
}

// Load is the load of an app over all gateways.
type Load struct {
	Concurrency, Rate float64
	Busy              bool
}

// Loads reads the load of apps of which there is a report since a time. Reports of the far future are of a clock that was set
// back: they do not count.
func (s *Store) Loads(ctx context.Context, since, now time.Time) (map[int64]Load, error) {
	rows, err := s.pool.Query(ctx, `SELECT app_id, sum(concurrency), sum(rate), bool_or(busy) FROM app_loads
		WHERE reported_at > $1 AND reported_at < $2 GROUP BY app_id`, since, now.Add(now.Sub(since)))
	if err != nil {
		return nil, fmt.Errorf("read the load of apps: %w", err)
	}
	loads := map[int64]Load{}
	var id int64
	var l Load
	if _, err = pgx.ForEachRow(rows, []any{&id, &l.Concurrency, &l.Rate, &l.Busy}, func() error { loads[id] = l; return nil }); err != nil {
		return nil, fmt.Errorf("read the load of apps: %w", err)
	}
	return loads, nil
}

// LastBusy reads when apps were last reported as busy; those of which nothing is known are left out.
func (s *Store) LastBusy(ctx context.Context, ids []int64) (map[int64]time.Time, error) {
	rows, err := s.pool.Query(ctx, `SELECT app_id, max(busy_at) FROM app_loads WHERE app_id = ANY($1) AND busy_at IS NOT NULL GROUP BY app_id`, ids)
	if err != nil {
		return nil, fmt.Errorf("read when apps were busy: %w", err)
	}
	last := map[int64]time.Time{}
	var id int64
	var at time.Time
	if _, err = pgx.ForEachRow(rows, []any{&id, &at}, func() error { last[id] = at; return nil }); err != nil {
		return nil, fmt.Errorf("read when apps were busy: %w", err)
	}
	return last, nil
}

// Period is the traffic of an app in one period.
type Period struct {
	Start            time.Time
	Requests, Errors int64
	// Concurrency is the sum over time, in seconds.
	Concurrency float64
	Latency     []int64
	Replicas    int32
}

// Traffic reads the periods of an app since a time, oldest first.
func (s *Store) Traffic(ctx context.Context, id int64, since time.Time) ([]Period, error) {
	rows, err := s.pool.Query(ctx, `SELECT start, requests, errors, concurrency, latency, replicas FROM app_traffic
		WHERE app_id = $1 AND start >= $2 ORDER BY start`, id, since)
	if err != nil {
		return nil, fmt.Errorf("read the traffic of an app: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p Period, err error) {
		return p, row.Scan(&p.Start, &p.Requests, &p.Errors, &p.Concurrency, &p.Latency, &p.Replicas)
	})
	if err != nil {
		return nil, fmt.Errorf("read the traffic of an app: %w", err)
	}
	return found, nil
}

// Forget deletes the traffic and the reports before a time.
func (s *Store) Forget(ctx context.Context, traffic, reports time.Time) error {
	for _, old := range []struct {
		statement string
		before    time.Time
	}{
		{`DELETE FROM app_traffic WHERE start < $1`, traffic},
		{`DELETE FROM app_loads WHERE reported_at < $1`, reports},
	} {
		if _, err := s.pool.Exec(ctx, old.statement, old.before); err != nil {
			return fmt.Errorf("delete old loads of apps: %w", err)
		}
	}
	return nil
}

// Due reads the row ids of apps whose time has come, the first ones first.
func (s *Store) Due(ctx context.Context, now time.Time, limit int) ([]int64, error) {
	rows, err := s.pool.Query(ctx, `SELECT id FROM apps WHERE next_at <= $1 ORDER BY next_at LIMIT $2`, now, limit)
	if err != nil {
		return nil, fmt.Errorf("read due apps: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, fmt.Errorf("read due apps: %w", err)
	}
	return ids, nil
}

// Any reports whether there are apps at all.
func (s *Store) Any(ctx context.Context) (some bool, err error) {
	if err := s.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM apps)`).Scan(&some); err != nil {
		return false, fmt.Errorf("look for apps: %w", err)
	}
	return some, nil
}
