package pgdb_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newPool(t *testing.T, config *pgxpool.Config) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// TestLeasesFollowTheClockOfTheDatabase: the clock of one holder is a year behind, and that of the other is a year ahead.
func TestLeasesFollowTheClockOfTheDatabase(t *testing.T) {
	pool := pgtest.New(t, migrations)
	a := pgdb.NewLeases(pool, clock.NewFake(time.Now().AddDate(-1, 0, 0)), "a")
	b := pgdb.NewLeases(pool, clock.NewFake(time.Now().AddDate(1, 0, 0)), "b")
	check := func(want, got bool, err error) {
		t.Helper()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	acquire := func(l *pgdb.Leases, want bool) {
		t.Helper()
		got, err := l.Acquire(t.Context(), "loop", time.Hour)
		check(want, got, err)
	}
	expire := func() {
		t.Helper()
		_, err := pool.Exec(t.Context(), `UPDATE leases SET expires_at = clock_timestamp()`)
		require.NoError(t, err)
	}
	acquire(a, true)
	acquire(b, false)
	acquire(a, true) // renews our own
	ours, err := a.Renew(t.Context(), "loop", time.Hour)
	check(true, ours, err)
	acquire(b, false)
	expire()
	ours, err = a.Renew(t.Context(), "loop", time.Hour)
	check(false, ours, err) // too late, even if no one took it
	acquire(b, true)
	require.NoError(t, a.Release(t.Context(), "loop"), "releasing the lease of another does nothing")
	acquire(a, false)
	require.NoError(t, b.Release(t.Context(), "loop"))
	acquire(a, true)
}

// TestClockSetBackFreesLeases: a lease that was taken when the clock of the database was hours ahead keeps no one waiting
// for hours.
func TestClockSetBackFreesLeases(t *testing.T) {
	pool := pgtest.New(t, migrations)
	a, b := pgdb.NewLeases(pool, clock.System{}, "a"), pgdb.NewLeases(pool, clock.System{}, "b")
	acquire := func(l *pgdb.Leases, want bool) {
		t.Helper()
		got, err := l.Acquire(t.Context(), "loop", time.Hour)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	ahead := func(by string) {
		t.Helper()
		_, err := pool.Exec(t.Context(), `UPDATE leases SET expires_at = expires_at + $1::interval`, by)
		require.NoError(t, err)
	}
	acquire(a, true)
	ahead("59 minutes")
	acquire(b, false) // a small step
	ahead("5 hours")
	acquire(b, true)
	acquire(a, false)
}

// TestAFrozenDatabaseEndsTheWork: the server accepts connections and answers nothing, as one whose processes are stopped.
// The work ends before another server may give the lease to someone else.
func TestAFrozenDatabaseEndsTheWork(t *testing.T) {
	pool := pgtest.New(t, migrations)
	frozen, err := pool.Begin(t.Context()) // a statement about the lease waits for this lock, and so gets no answer
	require.NoError(t, err)
	defer func() { require.NoError(t, frozen.Rollback(context.WithoutCancel(t.Context()))) }()
	const length = 1200 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	lasted := make(chan error, 1)
	go func() {
		ended <- pgdb.NewLeases(pool, clock.System{}, "a").Hold(ctx, "loop", length, func(ctx context.Context) error {
			if _, err := frozen.Exec(ctx, `LOCK TABLE leases`); err != nil {
				return err
			}
			<-ctx.Done()
			lasted <- context.Cause(ctx)
			return nil
		})
	}()
	require.ErrorIs(t, <-lasted, pgdb.ErrLeaseLost)
	cancel()
	require.NoError(t, <-ended)
}

// Story R27: aborts lived in the memory of one process, and a second replica did all work twice.
func TestHold(t *testing.T) {
	pool, fake := pgtest.New(t, migrations), clock.NewFake(start)
	a, b := pgdb.NewLeases(pool, fake, "a"), pgdb.NewLeases(pool, fake, "b")
	working, causes := make(chan struct{}, 1), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- a.Hold(ctx, "loop", time.Minute, func(ctx context.Context) error {
			working <- struct{}{}
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return nil
		})
	}()
	<-working
	armed := func() bool { return fake.Timers() == 1 }

	// It renews by itself, far beyond the first term.
	for range 9 {
		require.Eventually(t, armed, 10*time.Second, time.Millisecond)
		fake.Step(20 * time.Second)
	}
	require.Eventually(t, armed, 10*time.Second, time.Millisecond)
	ours, err := b.Acquire(t.Context(), "loop", time.Minute)
	require.NoError(t, err)
	require.False(t, ours)

	// The work stops when another holder is in the row.
	_, err = pool.Exec(t.Context(), "UPDATE leases SET holder = 'b'")
	require.NoError(t, err)
	fake.Step(20 * time.Second)
	require.ErrorIs(t, <-causes, pgdb.ErrLeaseLost)

	// When it is free again, the work starts again.
	require.NoError(t, b.Release(t.Context(), "loop"))
	require.Eventually(t, armed, 10*time.Second, time.Millisecond)
	fake.Step(20 * time.Second)
	<-working
	cancel()
	require.ErrorIs(t, <-causes, context.Canceled)
	require.NoError(t, <-ended)
	ours, err = b.Acquire(t.Context(), "loop", time.Minute)
	require.NoError(t, err)
	require.True(t, ours, "a holder that stops releases")
}

// TestLeasesAreRenewedTogether: two leases of one length are renewed by one statement, and each is lost alone.
func TestLeasesAreRenewedTogether(t *testing.T) {
	pool, fake := pgtest.New(t, migrations), clock.NewFake(start)
	leases := pgdb.NewLeases(pool, fake, "a")
	lost := map[string]chan error{"one": make(chan error, 1), "two": make(chan error, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	var holders sync.WaitGroup
	for name, cause := range lost {
		working := make(chan struct{}, 1)
		holders.Go(func() {
			_ = leases.Hold(ctx, name, time.Minute, func(ctx context.Context) error {
				working <- struct{}{}
				<-ctx.Done()
				cause <- context.Cause(ctx)
				return nil
			})
		})
		<-working
		fake.Step(11 * time.Second) // they are due at different times
	}
	written := func() (n int) {
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(DISTINCT xmin::text) FROM leases`).Scan(&n))
		return n
	}
	// Both wait for their next renewal, unless one timer has just fired and its statement has not begun.
	idle := func() bool { return fake.Timers() == 2 && pool.Stat().AcquiredConns() == 0 }
	together := false
	for range 50 {
		require.Eventually(t, idle, 10*time.Second, time.Millisecond)
		if together = written() == 1; together {
			break
		}
		fake.Step(9 * time.Second)
	}
	require.True(t, together, "one transaction has written both")

	_, err := pool.Exec(t.Context(), `UPDATE leases SET holder = 'b' WHERE name = 'two'`)
	require.NoError(t, err)
	for len(lost["two"]) == 0 {
		require.Eventually(t, func() bool { return idle() || len(lost["two"]) > 0 }, 10*time.Second, time.Millisecond)
		fake.Step(time.Second)
	}
	require.ErrorIs(t, <-lost["two"], pgdb.ErrLeaseLost)
	require.Empty(t, lost["one"])
	cancel()
	holders.Wait()
	require.ErrorIs(t, <-lost["one"], context.Canceled)
}
