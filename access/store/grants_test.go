package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// TestSignInsThatAnybodyCanBeginAreBounded: a flood deletes its own, whether it comes from one address or from many.
func TestSignInsThatAnybodyCanBeginAreBounded(t *testing.T) {
	pool := pgtest.Schemas(t, store.Schema())
	clk := clock.NewFake(time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC))
	s := store.New(pool, clk)
	s.BoundGrants(50, 120)
	begin := func(peer, value string) {
		t.Helper()
		clk.Step(time.Millisecond)
		require.NoError(t, s.BeginGrant(t.Context(), peer, store.GrantRequest, value, value, time.Hour))
	}
	found := func(value string) bool {
		t.Helper()
		var data string
		found, err := s.Grant(t.Context(), store.GrantRequest, value, &data)
		require.NoError(t, err)
		return found
	}
	count := func() (rows int) {
		t.Helper()
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM access_grants`).Scan(&rows))
		return rows
	}

	begin("192.0.2.1:7001", "honest")
	begin("198.51.100.1:7001", "answered")
	require.NoError(t, s.ChangeGrant(t.Context(), store.GrantRequest, "answered", "yes"))
	for i := range 200 {
		begin(fmt.Sprint("198.51.100.1:", 1024+i), fmt.Sprint("flood ", i))
	}
	require.Equal(t, 52, count(), "one address has 50, whatever its ports")
	require.True(t, found("honest"))
	require.True(t, found("answered"), "what a person has answered is not unfinished")
	require.False(t, found("flood 149"))
	require.True(t, found("flood 150"), "the newest stay")

	for i := range 300 {
		begin(fmt.Sprintf("[2001:db8:0:%x::%x]:443", i%5, i), fmt.Sprint("network ", i))
	}
	require.LessOrEqual(t, count(), 121+100, "all are looked at after each hundred")
	require.True(t, found("honest"), "the addresses that have most lose theirs")
	require.NoError(t, s.PutGrant(t.Context(), store.GrantCode, "code", "of a person", time.Hour))
	for i := range 300 {
		begin(fmt.Sprintf("[2001:db8:1:%x::1]:443", i), fmt.Sprint("many ", i))
	}
	require.LessOrEqual(t, count(), 122+100)
	require.True(t, found("many 299"))
	var data string
	kept, err := s.Grant(t.Context(), store.GrantCode, "code", &data)
	require.NoError(t, err)
	require.True(t, kept, "what only a person who has signed in begins is not counted")
}
