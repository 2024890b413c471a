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

// readers are a primary, and a standby that serves reads.
type readers struct {
	*pgdb.Replicas
	t    *testing.T
	pair *pgtest.Pair
}

func newReaders(t *testing.T, clk clock.Clock) *readers {
	t.Helper()
	pair := pgtest.NewPair(t, false)
	config := pgdb.DefaultConfig()
	config.URL, config.ReadReplicas, config.MinIdleConns, config.MaxConns = pair.Primary.DSN(), []string{pair.Standby.DSN()}, 0, 4
	primary, err := pgdb.Open(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(primary.Close)
	replicas, err := pgdb.OpenReplicas(t.Context(), config, pgdb.ReplicaDeps{Primary: primary, Clock: clk, Logger: zerolog.New(zerolog.NewTestWriter(t))})
	require.NoError(t, err)
	t.Cleanup(replicas.Close)
	require.NoError(t, replicas.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, replicas.Stop(context.WithoutCancel(t.Context()))) })
	r := &readers{replicas, t, pair}
	require.Eventually(t, func() bool { return r.fromStandby(`SELECT 1`) }, time.Minute, time.Millisecond, "the standby is used")
	return r
}

// fromStandby runs a query and reports whether the standby answered it.
func (r *readers) fromStandby(query string) (standby bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute) // which only a read that hangs takes
	defer cancel()
	require.NoError(r.t, r.Read(ctx, func(ctx context.Context, pool *pgxpool.Pool) error {
		if _, err := pool.Exec(ctx, query); err != nil {
			return err
		}
		return pool.QueryRow(ctx, `SELECT pg_is_in_recovery()`).Scan(&standby)
	}))
	return standby
}

// TestAFrozenStandbyIsNotWaitedFor: the processes of the standby stop. No one has noticed yet, for the clock of the caller
// it stands still, and each read goes to the primary after ReplicaMaxWait; there are more of them than connections.
func TestAFrozenStandbyIsNotWaitedFor(t *testing.T) {
	r := newReaders(t, clock.NewFake(time.Unix(0, 0)))
	pgtest.Freeze(r.pair.Standby)
	defer pgtest.Thaw(r.pair.Standby)
	served := make(chan bool)
	for range 20 {
		go func() { served <- r.fromStandby(`SELECT 1`) }()
	}
	for range 20 {
		require.False(t, <-served)
	}
	require.NoError(t, r.Stop(t.Context()))
	r.Close() // while it is still frozen
}

// TestAReadThatFreezesGoesToThePrimary: the standby stops in the middle of a read. The read is made again on the primary as
// soon as the standby has not answered for a moment, and the standby serves reads again when it continues.
func TestAReadThatFreezesGoesToThePrimary(t *testing.T) {
	r := newReaders(t, clock.System{})
	reading, ended := make(chan struct{}), make(chan bool)
	go func() {
		standby, first := false, true
		err := r.Read(t.Context(), func(ctx context.Context, pool *pgxpool.Pool) error {
			conn, err := pool.Acquire(ctx)
			if err != nil {
				return err
			}
			defer conn.Release()
			if first {
				first = false
				close(reading)
				_, err = conn.Exec(ctx, `SELECT pg_sleep(600)`) // on a server that is frozen, it never ends
				return err
			}
			return conn.QueryRow(ctx, `SELECT pg_is_in_recovery()`).Scan(&standby)
		})
		ended <- err != nil || standby
	}()
	<-reading
	pgtest.Freeze(r.pair.Standby)
	defer pgtest.Thaw(r.pair.Standby)
	require.False(t, <-ended, "the primary answered")
	require.False(t, r.fromStandby(`SELECT 1`))
	pgtest.Thaw(r.pair.Standby)
	require.Eventually(t, func() bool { return r.fromStandby(`SELECT 1`) }, time.Minute, time.Millisecond, "it is used again")
}
