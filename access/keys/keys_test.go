package keys_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access/keys"
	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func TestMain(m *testing.M) { pgtest.VerifyMain(m) }

func known(string) bool { return true }

func with(token string) authz.Request {
	return authz.Request{Header: http.Header{"Authorization": {"Bearer " + token}}}
}

func TestALifeOfAKey(t *testing.T) {
	clk := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	s := store.New(pgtest.Schemas(t, store.Schema()), clk)
	all := keys.New(s, clk, zerolog.Nop())
	made, err := all.Create(t.Context(), store.Key{Name: "ci", Owner: "ada"}, time.Hour, []store.Binding{{Role: "viewer", Project: "p"}}, known)
	require.NoError(t, err)
	require.True(t, keys.WellFormed(made.Secret))

	identity, err := all.Authenticate(t.Context(), with(made.Secret))
	require.NoError(t, err)
	require.Equal(t, authz.Identity{Kind: authz.Key, Subject: made.Key.ID, Name: "ci", Credential: made.Key.ID}, identity)
	identity, err = all.Check(t.Context(), made.Key.ID, made.Secret)
	require.NoError(t, err)
	require.Equal(t, made.Key.ID, identity.Subject)
	_, err = all.Check(t.Context(), "key-of-another", made.Secret)
	require.Equal(t, rpc.KindUnauthenticated, rpc.KindOf(err))

	for _, other := range []string{"", "an.oidc.token", "fbs_other"} {
		identity, err := all.Authenticate(t.Context(), with(other))
		require.NoError(t, err, "for another authenticator")
		require.Equal(t, authz.Anonymous, identity.Kind)
	}
	for name, wrong := range map[string]string{
		"mistyped": made.Secret[:8] + map[bool]string{true: "a", false: "b"}[made.Secret[8] == 'b'] + made.Secret[9:], "cut": made.Secret[:20], "prefix": keys.Prefix,
	} {
		_, err := all.Authenticate(t.Context(), with(wrong))
		require.Equal(t, rpc.KindUnauthenticated, rpc.KindOf(err), name)
		require.ErrorContains(t, err, "checksum", name)
		require.NotContains(t, err.Error(), wrong, "no error has a secret")
	}

	require.NoError(t, all.Start(t.Context()))
	require.NoError(t, all.Stop(context.WithoutCancel(t.Context())), "it records the last use")
	key, err := s.Key(t.Context(), made.Key.ID)
	require.NoError(t, err)
	require.Equal(t, clk.Now(), key.LastUsedAt.UTC())

	clk.Step(time.Hour)
	_, err = all.Authenticate(t.Context(), with(made.Secret))
	require.ErrorContains(t, err, "ended at 2026-01-01T01:00:00Z")

	other, err := all.Create(t.Context(), store.Key{Name: "ci", Owner: "ada"}, 0, nil, known)
	require.NoError(t, err)
	require.Nil(t, other.Key.ExpiresAt)
	_, err = all.Authenticate(t.Context(), with(other.Secret))
	require.NoError(t, err)
	require.NoError(t, s.RevokeKey(t.Context(), other.Key.ID))
	all.Forget()
	_, err = all.Authenticate(t.Context(), with(other.Secret))
	require.Equal(t, rpc.KindUnauthenticated, rpc.KindOf(err))
	require.ErrorContains(t, err, "was revoked")
	_, err = all.Caller(t.Context(), other.Key.ID)
	require.ErrorContains(t, err, "was revoked")

	live, err := s.ListKeys(t.Context(), store.KeyFilter{Owner: "ada", Limit: 10})
	require.NoError(t, err)
	require.Empty(t, live)
	ended, err := s.ListKeys(t.Context(), store.KeyFilter{Owner: "ada", Ended: true, Limit: 10})
	require.NoError(t, err)
	require.Len(t, ended, 2)
}

// TestNoSecretIsKept looks for the secret in the whole row of its key.
func TestNoSecretIsKept(t *testing.T) {
	pool := pgtest.Schemas(t, store.Schema())
	s := store.New(pool, clock.System{})
	made, err := keys.New(s, clock.System{}, zerolog.Nop()).Create(t.Context(), store.Key{Name: "ci", Owner: "ada"}, 0, nil, known)
	require.NoError(t, err)
	var row string
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT k::text FROM access_keys k`).Scan(&row))
	require.NotContains(t, row, made.Secret[len(keys.Prefix):len(made.Secret)-6])
	require.Contains(t, row, made.Key.Hint)
}

// BenchmarkAuthenticate measures a call with a key that is known. The budget of a call is 50 µs with its authorisation.
func BenchmarkAuthenticate(b *testing.B) {
	s := store.New(pgtest.Schemas(b, store.Schema()), clock.System{})
	all := keys.New(s, clock.System{}, zerolog.Nop())
	made, err := all.Create(b.Context(), store.Key{Name: "ci", Owner: "ada"}, 0, nil, known)
	require.NoError(b, err)
	request := with(made.Secret)
	b.ReportAllocs()
	for b.Loop() {
		_, err := all.Authenticate(b.Context(), request)
		require.NoError(b, err)
	}
}
