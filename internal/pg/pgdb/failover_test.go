package pgdb_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// follow opens a pool on both servers of a pair.
func follow(t *testing.T, pair *pgtest.Pair) *pgxpool.Pool {
	t.Helper()
	pool, start := open(t, pair)
	start()
	return pool
}

// open opens a pool on both servers of a pair, which follows the primary from the start on.
func open(t *testing.T, pair *pgtest.Pair) (pool *pgxpool.Pool, start func()) {
	t.Helper()
	failover := pgdb.NewFailover(clock.System{}, zerolog.New(zerolog.NewTestWriter(t)))
	config := pgdb.DefaultConfig()
	config.URL, config.MinIdleConns, config.MaxConns = pair.URL(), 0, 8
	pool, err := pgdb.Open(t.Context(), config, pgdb.WithFailover(failover))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool, func() {
		require.NoError(t, failover.Start(t.Context()))
		t.Cleanup(func() { require.NoError(t, failover.Stop(context.WithoutCancel(t.Context()))) })
	}
}

// The first look at the servers comes after another was promoted. It must not take the new primary for the one that the
// connections are to.
func TestAPrimaryThatFrozeBeforeTheFirstLookIsLeft(t *testing.T) {
	pair := pgtest.NewPair(t, true)
	pool, start := open(t, pair)
	conn, err := pool.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	pgtest.Freeze(pair.Primary)
	defer pgtest.Thaw(pair.Primary)
	pair.Promote()
	start()
	limited, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = conn.Exec(limited, `SELECT 1`)
	require.Error(t, err)
	require.NoError(t, limited.Err(), "the connection is cut")
	require.True(t, pgdb.IsTransient(err), "%v", err)
}

// TestAFrozenPrimaryIsLeft: the processes of the primary stop in the middle of a statement, and the standby is promoted. The
// statement ends with an error that says it may be repeated, everything works on the new primary, and when the old one
// continues, no one goes back to it.
func TestAFrozenPrimaryIsLeft(t *testing.T) {
	pair := pgtest.NewPair(t, true)
	pool := follow(t, pair)
	_, err := pool.Exec(t.Context(), `CREATE TABLE things (id int PRIMARY KEY)`)
	require.NoError(t, err)

	heard := make(chan pgdb.Notification, 100)
	listener := pgdb.NewListener(pool, clock.System{}, zerolog.Nop(), map[string]func(pgdb.Notification){
		"news": func(n pgdb.Notification) { heard <- n },
	})
	require.NoError(t, listener.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, listener.Stop(context.WithoutCancel(t.Context()))) })
	require.True(t, (<-heard).Resync)

	began, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		conn, err := pool.Acquire(t.Context())
		close(began)
		if err != nil {
			ended <- err
			return
		}
		defer conn.Release()
		_, err = conn.Exec(t.Context(), `SELECT pg_sleep(600)`) // on a server that no longer answers, it never ends
		ended <- err
	}()
	<-began
	pgtest.Freeze(pair.Primary)
	defer pgtest.Thaw(pair.Primary)
	pair.Promote()
	err = <-ended
	require.Error(t, err)
	require.True(t, pgdb.IsTransient(err), "%v", err)
	require.True(t, (<-heard).Resync, "the listener connects again, and says that it may have missed something")

	insert := func(id int) error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := pool.Exec(ctx, `INSERT INTO things VALUES ($1) ON CONFLICT DO NOTHING`, id)
		return err
	}
	require.Eventually(t, func() bool { return insert(1) == nil }, time.Minute, 10*time.Millisecond)
	_, err = pool.Exec(t.Context(), `SELECT pg_notify('news', 'hello')`)
	require.NoError(t, err)
	require.Equal(t, pgdb.Notification{Payload: "hello"}, <-heard)

	pgtest.Thaw(pair.Primary)
	for id := range 20 {
		pool.Reset() // so that each uses a new connection
		require.NoError(t, insert(id))
	}
	var n int
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM things`).Scan(&n))
	require.Equal(t, 20, n)
	pgtest.Exec(t, pair.Standby.DSN(), `DROP TABLE things`) // the standby of before has them
}

// TestADeadPrimaryIsReplaced: connections break, and the next ones find the new primary.
func TestADeadPrimaryIsReplaced(t *testing.T) {
	pair := pgtest.NewPair(t, true)
	pool := follow(t, pair)
	_, err := pool.Exec(t.Context(), `CREATE TABLE things (id int PRIMARY KEY)`)
	require.NoError(t, err)
	pair.Kill()
	require.Eventually(t, func() bool { // the processes take a moment to end
		_, err = pool.Exec(t.Context(), `INSERT INTO things VALUES (1) ON CONFLICT DO NOTHING`)
		return err != nil
	}, time.Minute, time.Millisecond)
	require.True(t, pgdb.IsTransient(err), "%v", err)
	pair.Promote()
	require.Eventually(t, func() bool {
		_, err := pool.Exec(t.Context(), `INSERT INTO things VALUES (2) ON CONFLICT DO NOTHING`)
		return err == nil
	}, time.Minute, 10*time.Millisecond)
}
