package credentials_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/clusters"
	"github.com/flyte-binary/flyte-binary/clusters/credentials"
	"github.com/flyte-binary/flyte-binary/clusters/store"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func TestMain(m *testing.M) { pgtest.VerifyMain(m) }

func with(token string) authz.Request {
	return authz.Request{Header: http.Header{"Authorization": {"Bearer " + token}}}
}

// away is a source that can be away.
type away struct {
	*store.Store
	mu   sync.Mutex
	down bool
}

var errAway = errors.New("the database is away")

func (a *away) is(down bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.down = down
}

func (a *away) ByHash(ctx context.Context, hash []byte) (store.Credential, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.down {
		return store.Credential{}, errAway
	}
	return a.Store.ByHash(ctx, hash)
}

func TestALifeOfACredential(t *testing.T) {
	clk := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	rows := store.New(pgtest.Schemas(t, store.Schema()))
	registry := clusters.NewRegistry(rows, nil, clk)
	source := &away{Store: rows}
	all := credentials.New(source, clk, zerolog.Nop())

	_, _, err := registry.Add(t.Context(), "East!", "ada")
	require.Equal(t, rpc.KindInvalidArgument, rpc.KindOf(err))
	_, first, err := registry.Add(t.Context(), "east", "ada")
	require.NoError(t, err)
	_, _, err = registry.Add(t.Context(), "east", "ada")
	require.Equal(t, rpc.KindAlreadyExists, rpc.KindOf(err))
	identity, err := all.Authenticate(t.Context(), with(first.Secret))
	require.NoError(t, err)
	require.Equal(t, authz.Identity{
		Kind: authz.Cluster, Subject: "cluster:east", Name: "east", Credential: first.Credential.ID, Cluster: "east",
	}, identity)
	require.NoError(t, all.Ended(t.Context(), identity))

	for _, other := range []string{"", "an.oidc.token", "fbk_other"} {
		identity, err := all.Authenticate(t.Context(), with(other))
		require.NoError(t, err, "for another authenticator")
		require.Equal(t, authz.Anonymous, identity.Kind)
	}
	_, err = all.Authenticate(t.Context(), with(first.Secret[:20]))
	require.Equal(t, rpc.KindUnauthenticated, rpc.KindOf(err))
	require.NotContains(t, err.Error(), first.Secret[4:20], "no error has a secret")

	// The change from one credential to the next: both are valid until the first is revoked.
	second, err := registry.Issue(t.Context(), "east", "ada")
	require.NoError(t, err)
	for _, secret := range []string{first.Secret, second.Secret} {
		_, err := all.Authenticate(t.Context(), with(secret))
		require.NoError(t, err)
	}
	_, err = registry.Revoke(t.Context(), first.Credential.ID)
	require.NoError(t, err)
	_, err = all.Authenticate(t.Context(), with(first.Secret))
	require.NoError(t, err, "the answer of before is believed")
	clk.Step(3 * time.Second)
	_, err = all.Authenticate(t.Context(), with(first.Secret))
	require.Equal(t, rpc.KindUnauthenticated, rpc.KindOf(err))
	require.ErrorContains(t, err, "clusters issue east")
	require.Equal(t, rpc.KindUnauthenticated, rpc.KindOf(all.Ended(t.Context(), identity)), "its streams end")

	// While the database is away, who was valid stays so, and no one else is let in.
	_, err = all.Authenticate(t.Context(), with(second.Secret))
	require.NoError(t, err)
	source.is(true)
	clk.Step(9 * time.Minute)
	_, err = all.Authenticate(t.Context(), with(second.Secret))
	require.NoError(t, err)
	_, err = all.Authenticate(t.Context(), with(first.Secret))
	require.Error(t, err)
	clk.Step(2 * time.Minute)
	_, err = all.Authenticate(t.Context(), with(second.Secret))
	require.Equal(t, rpc.KindUnavailable, rpc.KindOf(err))
	source.is(false)

	// A notification needs no wait.
	_, err = all.Authenticate(t.Context(), with(second.Secret))
	require.NoError(t, err)
	require.NoError(t, registry.Remove(t.Context(), "east", false))
	all.Forget()
	_, err = all.Authenticate(t.Context(), with(second.Secret))
	require.Equal(t, rpc.KindUnauthenticated, rpc.KindOf(err))
	require.Equal(t, rpc.KindNotFound, rpc.KindOf(registry.Remove(t.Context(), "east", false)))
	_, err = registry.Issue(t.Context(), "east", "ada")
	require.Equal(t, rpc.KindNotFound, rpc.KindOf(err))
	_, err = registry.Revoke(t.Context(), "cred-none")
	require.Equal(t, rpc.KindNotFound, rpc.KindOf(err))
}

func TestUseAndNumberOfCredentials(t *testing.T) {
	clk := clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	rows := store.New(pgtest.Schemas(t, store.Schema()))
	registry := clusters.NewRegistry(rows, nil, clk)
	_, first, err := registry.Add(t.Context(), "east", "ada")
	require.NoError(t, err)
	all := credentials.New(rows, clk, zerolog.Nop())
	require.NoError(t, all.Start(t.Context()))
	_, err = all.Authenticate(t.Context(), with(first.Secret))
	require.NoError(t, err)
	require.NoError(t, all.Stop(context.WithoutCancel(t.Context())), "it records the last use")
	listed, err := registry.List(t.Context(), "", 10)
	require.NoError(t, err)
	require.Len(t, listed, 1)
	require.Equal(t, clk.Now(), listed[0].Credentials[0].LastUsedAt.UTC())

	// Many at once get no more than there may be.
	var issued sync.WaitGroup
	var mu sync.Mutex
	kinds := map[rpc.Kind]int{}
	for range 12 {
		issued.Go(func() {
			_, err := registry.Issue(t.Context(), "east", "ada")
			mu.Lock()
			defer mu.Unlock()
			kinds[rpc.KindOf(err)]++
		})
	}
	issued.Wait()
	require.Equal(t, map[rpc.Kind]int{0: store.MaxCredentials - 1, rpc.KindFailedPrecondition: 12 - (store.MaxCredentials - 1)}, kinds)

	// Revoked ones are listed for thirty days.
	_, err = registry.Revoke(t.Context(), first.Credential.ID)
	require.NoError(t, err)
	listed, err = registry.List(t.Context(), "", 10)
	require.NoError(t, err)
	require.Len(t, listed[0].Credentials, store.MaxCredentials)
	clk.Step(31 * 24 * time.Hour)
	listed, err = registry.List(t.Context(), "", 10)
	require.NoError(t, err)
	require.Len(t, listed[0].Credentials, store.MaxCredentials-1)
}
