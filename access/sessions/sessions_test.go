package sessions_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access/sessions"
	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func TestMain(m *testing.M) { pgtest.VerifyMain(m) }

var lifetimes = sessions.Lifetimes{Idle: time.Hour, Absolute: 10 * time.Hour}

func replicas(t *testing.T) (one, other *sessions.Sessions, now *clock.Fake) {
	t.Helper()
	now = clock.NewFake(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	kept := store.New(pgtest.Schemas(t, store.Schema()), now)
	one, err := sessions.New(kept, now, lifetimes)
	require.NoError(t, err)
	other, err = sessions.New(kept, now, lifetimes)
	require.NoError(t, err)
	return one, other, now
}

// TestASessionEnds when it is not used, in any case after some time, and when it is ended: then in other processes within Fresh.
func TestASessionEnds(t *testing.T) {
	one, other, now := replicas(t)
	ada := sessions.Person{Subject: "ada", Name: "Ada", Groups: []string{"engineers"}}
	begin := func() (sessions.Session, string) {
		session, token, err := one.Begin(t.Context(), sessions.NewID(), "console", ada)
		require.NoError(t, err)
		return session, token
	}
	lives := func(s *sessions.Sessions, token string) bool {
		session, found, err := s.ByToken(t.Context(), token)
		require.NoError(t, err)
		if found {
			require.Equal(t, authz.Identity{Kind: authz.User, Subject: "ada", Name: "Ada", Groups: []string{"engineers"}, Credential: session.ID}, session.Person.Identity(session.ID))
		}
		return found
	}

	_, idle := begin()
	require.True(t, lives(one, idle))
	now.Step(59 * time.Minute)
	require.True(t, lives(one, idle), "it was used")
	now.Step(59 * time.Minute)
	require.True(t, lives(other, idle), "uses count for every process")
	now.Step(61 * time.Minute)
	require.False(t, lives(one, idle), "it was idle for too long")
	require.False(t, lives(other, idle))

	_, old := begin()
	for range 11 {
		now.Step(54 * time.Minute)
		require.True(t, lives(one, old))
	}
	now.Step(10 * time.Minute)
	require.False(t, lives(one, old), "it is too old")

	ended, token := begin()
	require.True(t, lives(one, token))
	require.True(t, lives(other, token))
	require.NoError(t, one.End(t.Context(), ended.ID))
	require.False(t, lives(one, token))
	now.Step(sessions.Fresh)
	require.False(t, lives(other, token))
	require.False(t, lives(one, "a token that was made up"))

	_, swept := begin()
	now.Step(2 * time.Hour)
	require.NoError(t, one.Sweep(t.Context()))
	require.False(t, lives(other, swept))
}
