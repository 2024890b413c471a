package providers_test

import (
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access/providers"
	"github.com/flyte-binary/flyte-binary/access/sessions"
	"github.com/flyte-binary/flyte-binary/internal/test/issuertest"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// assertions is a proxy whose tokens an issuer signs.
func assertions(t *testing.T, issuer *issuertest.Issuer, clk clock.Clock) func(token string) (sessions.Person, error) {
	t.Helper()
	proxy, err := providers.NewAssertions(providers.AssertionConfig{
		Header: "X-Assertion", Issuer: issuer.URL, Audience: "flyte", KeysURL: issuer.URL + "/keys", Claims: names,
	}, clk)
	require.NoError(t, err)
	return func(token string) (sessions.Person, error) {
		person, _, err := proxy.Person(t.Context(), authz.Request{Header: http.Header{"X-Assertion": {token}}})
		return person, err
	}
}

// TestAnOutageOfTheProxysKeys says nothing against a token: callers try again, do not wait, and the keys are asked for after pauses that
// grow, however many calls come.
func TestAnOutageOfTheProxysKeys(t *testing.T) {
	issuer, clk := issuertest.New(t), clock.NewFake(time.Now())
	person := assertions(t, issuer, clk)
	lasting := map[string]any{"aud": "flyte", "exp": clk.Now().Add(24 * time.Hour).Unix()}
	away := func(token string) {
		t.Helper()
		before := issuer.Served("/keys")
		for range 20 * 12 {
			_, err := person(token)
			require.Equal(t, rpc.KindUnavailable, rpc.KindOf(err), "%v", err)
			clk.Step(5 * time.Second)
		}
		asked := issuer.Served("/keys") - before
		require.Greater(t, asked, 20, "it is asked again and again")
		require.Less(t, asked, 130, "and not with every call")
	}
	issuer.Away(true)
	old := issuer.Token(lasting)
	away(old)
	issuer.Away(false)
	clk.Step(20 * time.Second)
	// The library hands out the result of a read for a moment longer.
	require.Eventually(t, func() bool { who, err := person(old); return err == nil && who.Subject == "ada" }, time.Minute, time.Millisecond)

	issuer.Away(true)
	lasting["jti"] = "another"
	_, err := person(issuer.Token(lasting))
	require.NoError(t, err, "the key is known")
	issuer.Rotate(true)
	clk.Step(2 * time.Second)
	fresh := issuer.Token(lasting)
	away(fresh)
	_, err = person(old)
	require.NoError(t, err, "who is known stays")
	issuer.Away(false)
	clk.Step(20 * time.Second)
	require.Eventually(t, func() bool { _, err := person(fresh); return err == nil }, time.Minute, time.Millisecond)
	_, err = person(issuertest.New(t).Token(map[string]any{"aud": "flyte", "iss": issuer.URL}))
	require.Equal(t, rpc.KindUnauthenticated, rpc.KindOf(err), "%v", err)
}

// TestTheProxysKeysAreReadOnce for all who call at the same time, whether they can be read or not.
func TestTheProxysKeysAreReadOnce(t *testing.T) {
	for name, away := range map[string]bool{"there": false, "away": true} {
		t.Run(name, func(t *testing.T) {
			issuer, clk := issuertest.New(t), clock.NewFake(time.Now())
			person := assertions(t, issuer, clk)
			var calls sync.WaitGroup
			begin := make(chan struct{})
			tokens := make([]string, 50)
			for i := range tokens {
				tokens[i] = issuer.Token(map[string]any{"aud": "flyte", "jti": i})
			}
			issuer.Away(away)
			for _, token := range tokens {
				calls.Go(func() {
					<-begin
					_, err := person(token)
					if away && rpc.KindOf(err) != rpc.KindUnavailable || !away && err != nil {
						t.Error(errors.Join(errors.New("unexpected"), err))
					}
				})
			}
			close(begin)
			calls.Wait()
			require.Equal(t, 1, issuer.Served("/keys"))
		})
	}
}
