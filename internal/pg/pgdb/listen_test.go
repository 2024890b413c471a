package pgdb_test

import (
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/internal/pg/pgdb"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func TestListen(t *testing.T) {
	pool := pgtest.Empty(t)
	heard, other := make(chan pgdb.Notification, 16), make(chan pgdb.Notification, 16)
	listener := pgdb.NewListener(pool, clock.System{}, zerolog.Nop(), map[string]func(pgdb.Notification){
		"Odd channel": func(n pgdb.Notification) { heard <- n },
		"other":       func(n pgdb.Notification) { other <- n },
	})
	require.NoError(t, listener.Start(t.Context()))
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
	terminate(t, pool, uint32(pid))
	require.Equal(t, pgdb.Notification{Resync: true}, <-heard, "a new connection may have missed something")
	notify("3")
	require.Equal(t, pgdb.Notification{Payload: "3"}, <-heard)

	_, err := pool.Exec(t.Context(), "SELECT pg_notify('other', 'a'), pg_notify('unheard', 'b'), pg_notify('other', 'c')")
	require.NoError(t, err)
	for _, want := range []pgdb.Notification{{Resync: true}, {Resync: true}, {Payload: "a"}, {Payload: "c"}} {
		require.Equal(t, want, <-other, "channels do not mix")
	}
	require.Empty(t, heard)
	require.NoError(t, listener.Stop(t.Context()))
}

func TestListenBacksOffWhileTheDatabaseIsAway(t *testing.T) {
	pool := pgtest.Empty(t)
	away := pool.Config().Copy()
	away.ConnConfig.Host, away.ConnConfig.Fallbacks = t.TempDir(), nil
	gone := newPool(t, away)

	fake := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	listener := pgdb.NewListener(gone, fake, zerolog.Nop(), map[string]func(pgdb.Notification){
		"c": func(pgdb.Notification) { t.Error("heard something") },
	})
	require.NoError(t, listener.Start(t.Context()))
	for range 5 {
		require.Eventually(t, func() bool { return fake.Timers() == 1 }, 10*time.Second, time.Millisecond)
		fake.Step(time.Minute)
	}
	require.NoError(t, listener.Stop(t.Context()))
}
