package pgdb_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/clock"
	"github.com/flyte-binary/flyte-binary/internal/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/pgtest"
)

func TestListen(t *testing.T) {
	pool := pgtest.Empty(t)
	ctx, cancel := context.WithCancel(t.Context())
	heard := make(chan pgdb.Notification, 16)
	ended := make(chan error)
	go func() {
		ended <- pgdb.Listen(ctx, pool, "Odd channel", clock.System{}, func(n pgdb.Notification) { heard <- n })
	}()
	notify := func(payload string) {
		_, err := pool.Exec(t.Context(), "SELECT pg_notify('Odd channel', $1)", payload)
		require.NoError(t, err)
	}

	require.Equal(t, pgdb.Notification{Resync: true}, <-heard)
	for _, payload := range []string{"1", "2"} {
		notify(payload)
		require.Equal(t, pgdb.Notification{Payload: payload}, <-heard)
	}

	var pid int32
	require.NoError(t, pool.QueryRow(t.Context(),
		"SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()").Scan(&pid))
	terminate(t, pool, uint32(pid)) //nolint:gosec // a pid
	require.Equal(t, pgdb.Notification{Resync: true}, <-heard, "a new connection may have missed something")
	notify("3")
	require.Equal(t, pgdb.Notification{Payload: "3"}, <-heard)

	cancel()
	require.NoError(t, <-ended)
}

func TestListenBacksOffWhileTheDatabaseIsAway(t *testing.T) {
	pool := pgtest.Empty(t)
	away := pool.Config().Copy()
	away.ConnConfig.Host, away.ConnConfig.Fallbacks = t.TempDir(), nil
	gone := newPool(t, away)

	fake := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- pgdb.Listen(ctx, gone, "c", fake, func(pgdb.Notification) { t.Error("heard something") })
	}()
	for range 5 {
		require.Eventually(t, func() bool { return fake.Timers() == 1 }, 10*time.Second, time.Millisecond)
		fake.Step(time.Minute)
	}
	cancel()
	require.NoError(t, <-ended)
}
