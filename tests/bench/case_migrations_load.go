package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/flyte-binary/flyte-binary/tests/bench/stack"
)

// emptyDatabase creates a second database on the server's Postgres. remove drops it.
func emptyDatabase(ctx context.Context, s *stack.Stack, name string) (pool *pgxpool.Pool, remove func(), err error) {
	admin, err := pgxpool.New(ctx, s.Postgres.DSN())
	if err != nil {
		return nil, nil, err
	}
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name); err != nil {
		admin.Close()
		return nil, nil, fmt.Errorf("create a database: %w", err)
	}
	if pool, err = pgxpool.New(ctx, s.Postgres.DSNOf(name)); err != nil {
		admin.Close()
		return nil, nil, err
	}
	return pool, func() {
		pool.Close()
		_, _ = admin.Exec(context.WithoutCancel(ctx), "DROP DATABASE "+name+" WITH (FORCE)") // the whole server is discarded later
		admin.Close()
	}, nil
}

// tableLoad reads and writes rows of actions, and watches what waits for locks.
type tableLoad struct {
	pool    *pgxpool.Pool
	end     context.CancelFunc
	working sync.WaitGroup
	failure atomic.Pointer[error]
	call    atomic.Int64 // the longest call since reset
	lock    atomic.Int64 // the longest wait for a lock of a table since reset
}

// tableCallers is how many write at the same time, and as many read.
const tableCallers = 4

// startTableLoad starts callers that update and read random rows by key, with pauses so that they do not saturate the
// machine: what is measured is waiting for locks, not for processors.
func startTableLoad(ctx context.Context, pool *pgxpool.Pool) (*tableLoad, error) {
	var first, last int64
	if err := pool.QueryRow(ctx, `SELECT min(id), max(id) FROM actions`).Scan(&first, &last); err != nil {
		return nil, err
	}
	config := pool.Config()
	// A connection for each caller and one for the look at locks: none waits for another in the pool.
	config.MaxConns = 2*tableCallers + 1
	own, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	l := &tableLoad{pool: own}
	ctx, l.end = context.WithCancel(ctx)
	loop := func(work func() error) {
		l.working.Go(func() {
			for ctx.Err() == nil {
				if err := work(); err != nil && ctx.Err() == nil {
					l.failure.CompareAndSwap(nil, &err)
					return
				}
			}
		})
	}
	for _, statement := range []string{`UPDATE actions SET attempt = attempt WHERE id = $1`, `SELECT phase FROM actions WHERE id = $1`} {
		for range tableCallers {
			loop(func() error {
				began := time.Now()
				_, err := own.Exec(ctx, statement, first+rand.Int64N(last-first+1))
				raise(&l.call, time.Since(began))
				return errors.Join(err, stack.Pause(ctx, time.Millisecond))
			})
		}
	}
	// The waits of migrations themselves, such as an index that is built concurrently, do not count as waits of callers.
	const waits = `
		SELECT coalesce(max(extract(epoch FROM clock_timestamp() - l.waitstart)), 0)::float8
		FROM pg_locks l JOIN pg_stat_activity a USING (pid)
		WHERE NOT l.granted AND a.datname = current_database() AND a.query ~ '^(UPDATE actions|SELECT phase)'`
	loop(func() error {
		var longest float64
		err := own.QueryRow(ctx, waits).Scan(&longest)
		raise(&l.lock, time.Duration(longest*float64(time.Second)))
		return errors.Join(err, stack.Pause(ctx, time.Millisecond))
	})
	return l, nil
}

// raise stores a duration if it is the longest so far.
func raise(to *atomic.Int64, took time.Duration) {
	for {
		before := to.Load()
		if int64(took) <= before || to.CompareAndSwap(before, int64(took)) {
			return
		}
	}
}

func (l *tableLoad) reset() { l.call.Store(0); l.lock.Store(0) }

func (l *tableLoad) longest() (call, lock time.Duration) {
	return time.Duration(l.call.Load()), time.Duration(l.lock.Load())
}

// stop ends the load and returns the first failure of a call.
func (l *tableLoad) stop() error {
	l.end()
	l.working.Wait()
	l.pool.Close()
	if failure := l.failure.Load(); failure != nil {
		return *failure
	}
	return nil
}
