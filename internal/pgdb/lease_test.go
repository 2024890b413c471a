package pgdb_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/internal/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/pgtest"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newPool(t *testing.T, config *pgxpool.Config) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

func TestLease(t *testing.T) {
	pool, fake := pgtest.New(t, migrations), clock.NewFake(start)
	a, b := pgdb.NewLeases(pool, fake, "a"), pgdb.NewLeases(pool, fake, "b")
	check := func(want, got bool, err error) {
		t.Helper()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	acquire := func(l *pgdb.Leases, want bool) {
		t.Helper()
		got, err := l.Acquire(t.Context(), "loop", time.Minute)
		check(want, got, err)
	}
	acquire(a, true)
	acquire(b, false)
	acquire(a, true) // renews our own
	fake.Step(59 * time.Second)
	ours, err := a.Renew(t.Context(), "loop", time.Minute)
	check(true, ours, err)
	fake.Step(59 * time.Second)
	acquire(b, false)
	fake.Step(time.Second)
	ours, err = a.Renew(t.Context(), "loop", time.Minute)
	check(false, ours, err) // too late, even if nobody took it
	acquire(b, true)
	require.NoError(t, a.Release(t.Context(), "loop"), "releasing the lease of another does nothing")
	acquire(a, false)
	require.NoError(t, b.Release(t.Context(), "loop"))
	acquire(a, true)
}

// TestClockSetBackFreesLeases: a holder that died when the clock was hours ahead keeps nobody waiting for hours.
func TestClockSetBackFreesLeases(t *testing.T) {
	pool, fake := pgtest.New(t, migrations), clock.NewFake(start)
	a, b := pgdb.NewLeases(pool, fake, "a"), pgdb.NewLeases(pool, fake, "b")
	acquire := func(l *pgdb.Leases, want bool) {
		t.Helper()
		got, err := l.Acquire(t.Context(), "loop", time.Minute)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	acquire(a, true)
	fake.Step(-59 * time.Second)
	acquire(b, false) // clocks may differ a little
	fake.Step(-5 * time.Hour)
	acquire(b, true)
	acquire(a, false)
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
