package providers_test

import (
	"maps"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access/providers"
	"github.com/flyte-binary/flyte-binary/internal/test/issuertest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

var names = providers.ClaimNames{Subject: "sub", Name: "name", Email: "email", Groups: "groups"}

func provider(issuer *issuertest.Issuer, change func(*providers.Config)) *providers.Provider {
	return providerAt(issuer, clock.System{}, change)
}

func providerAt(issuer *issuertest.Issuer, clk clock.Clock, change func(*providers.Config)) *providers.Provider {
	config := providers.Config{Name: "Example", URL: issuer.URL, ClientID: "flyte", Audiences: []string{"api"}, Claims: names, Reserved: []string{"local|", "Example|", "Other|"}}
	if change != nil {
		change(&config)
	}
	return providers.New(config, clk)
}

// TestTokensOfPrograms accepts the tokens of a provider that are for this installation and still valid, and no others.
func TestTokensOfPrograms(t *testing.T) {
	issuer, foreign := issuertest.New(t), issuertest.New(t)
	p := provider(issuer, nil)
	now := time.Now()
	for name, c := range map[string]struct {
		token string
		want  string // of the error
	}{
		"for the client":          {issuer.Token(map[string]any{"aud": "flyte"}), ""},
		"for another audience":    {issuer.Token(map[string]any{"aud": []string{"other", "api"}}), ""},
		"for another program":     {issuer.Token(map[string]any{"aud": "other"}), "its audience is other, not flyte or api"},
		"for everybody":           {issuer.Token(nil), "its audience is "},
		"issued to another party": {issuer.Token(map[string]any{"aud": []string{"flyte", "other"}, "azp": "other"}), "it was issued to other"},
		"expired":                 {issuer.Token(map[string]any{"aud": "flyte", "exp": now.Add(-2 * time.Minute).Unix()}), "expired"},
		"by a slow clock":         {issuer.Token(map[string]any{"aud": "flyte", "exp": now.Add(-30 * time.Second).Unix()}), ""},
		"by a fast clock":         {issuer.Token(map[string]any{"aud": "flyte", "iat": now.Add(30 * time.Second).Unix(), "nbf": now.Add(30 * time.Second).Unix()}), ""},
		"not valid yet":           {issuer.Token(map[string]any{"aud": "flyte", "nbf": now.Add(2 * time.Minute).Unix()}), "it is not valid before"},
		"issued in the future":    {issuer.Token(map[string]any{"aud": "flyte", "iat": now.Add(2 * time.Minute).Unix()}), "this clock or that of Example is wrong"},
		"without an end":          {issuer.Token(map[string]any{"aud": "flyte", "exp": nil}), "has no end"},
		"signed by another":       {foreign.Token(map[string]any{"aud": "flyte", "iss": issuer.URL}), "failed to verify signature"},
		"of another issuer":       {foreign.Token(map[string]any{"aud": "flyte"}), "failed to verify signature"},
		"of no subject":           {issuer.Token(map[string]any{"aud": "flyte", "sub": ""}), "has no claim sub"},
		"with a reserved subject": {issuer.Token(map[string]any{"aud": "flyte", "sub": "Other|bob"}), "begins like those of Other"},
	} {
		person, ends, err := p.Verify(t.Context(), c.token)
		if c.want == "" {
			require.NoError(t, err, name)
			require.Equal(t, "ada", person.Subject, name)
			require.False(t, ends.IsZero())
		} else {
			require.ErrorContains(t, err, c.want, name)
		}
	}
}

// TestTokensOfSignIns accepts the ID token that a code was exchanged for if it was issued to this installation, for this sign-in.
func TestTokensOfSignIns(t *testing.T) {
	issuer := issuertest.New(t)
	p := provider(issuer, nil)
	login := providers.Login{State: "state", Nonce: "nonce", Verifier: "verifier"}
	for name, c := range map[string]struct {
		claims map[string]any
		want   string // of the error
	}{
		"for the client":               {map[string]any{"aud": "flyte"}, ""},
		"for several, to the client":   {map[string]any{"aud": []string{"flyte", "other"}, "azp": "flyte"}, ""},
		"for several, to no one":       {map[string]any{"aud": []string{"flyte", "other"}}, ""},
		"for several, to another":      {map[string]any{"aud": []string{"flyte", "other"}, "azp": "other"}, "was issued to other, not to flyte"},
		"for several, to an audience":  {map[string]any{"aud": []string{"flyte", "api"}, "azp": "api"}, "was issued to api, not to flyte"},
		"for the programs of a person": {map[string]any{"aud": "api"}, "is for api, not for flyte"},
		"of another sign-in":           {map[string]any{"aud": "flyte", "nonce": "another"}, "is of another sign-in"},
		"of no sign-in":                {map[string]any{"aud": "flyte", "nonce": nil}, "is of another sign-in"},
	} {
		claims := map[string]any{"nonce": login.Nonce}
		maps.Copy(claims, c.claims)
		issuer.SignIn(claims)
		person, err := p.Finish(t.Context(), login, "code")
		if c.want == "" {
			require.NoError(t, err, name)
			require.Equal(t, "ada", person.Subject, name)
		} else {
			require.ErrorContains(t, err, c.want, name)
		}
	}
}

// TestSigningOutAfterARestart leads to the provider although this process has not asked it before, unless it is away.
func TestSigningOutAfterARestart(t *testing.T) {
	issuer := issuertest.New(t)
	to, err := url.Parse(provider(issuer, nil).SignOutURL(t.Context(), "token", "https://flyte.example.com/access/signed-out"))
	require.NoError(t, err)
	require.Equal(t, issuer.URL+"/end_session", to.Scheme+"://"+to.Host+to.Path)
	require.Equal(t, url.Values{
		"id_token_hint": {"token"}, "post_logout_redirect_uri": {"https://flyte.example.com/access/signed-out"}, "client_id": {"flyte"},
	}, to.Query())
	issuer.Away(true)
	require.Empty(t, provider(issuer, nil).SignOutURL(t.Context(), "token", "https://flyte.example.com/access/signed-out"))
}

// TestClaims reads a person from claims of other names.
func TestClaims(t *testing.T) {
	issuer := issuertest.New(t)
	p := provider(issuer, func(c *providers.Config) {
		c.Prefix = "Example|"
		c.Claims = providers.ClaimNames{Subject: "email", Name: "full", Email: "email", Groups: "roles"}
	})
	claims := map[string]any{"aud": "flyte", "email": "ada@example.com", "email_verified": true, "full": "Ada Lovelace", "roles": []any{"a", 1, "b"}}
	person, _, err := p.Verify(t.Context(), issuer.Token(claims))
	require.NoError(t, err)
	require.Equal(t, "Example|ada@example.com", person.Subject)
	require.Equal(t, "Ada Lovelace", person.Name)
	require.Equal(t, []string{"a", "b"}, person.Groups)
	claims["email_verified"] = false
	_, _, err = p.Verify(t.Context(), issuer.Token(claims))
	require.ErrorContains(t, err, "has not verified the address ada@example.com")
}

// TestAnOutageOfTheProvider verifies tokens by the keys that are known while the provider is away, and new keys once it is back. The
// provider is asked after pauses that grow, however many tokens come, and callers do not wait for it.
func TestAnOutageOfTheProvider(t *testing.T) {
	issuer, clk := issuertest.New(t), clock.NewFake(time.Now())
	p := providerAt(issuer, clk, nil)
	unreachable := new(providers.UnreachableError)
	verify := func(token string) error {
		_, _, err := p.Verify(t.Context(), token)
		return err
	}
	// away is twenty minutes in which a token is presented every five seconds.
	away := func(token, path string) {
		t.Helper()
		before := issuer.Served(path)
		for range 20 * 12 {
			require.ErrorAs(t, verify(token), &unreachable)
			clk.Step(5 * time.Second)
		}
		asked := issuer.Served(path) - before
		require.Greater(t, asked, 20, "it is asked again and again")
		require.Less(t, asked, 130, "and not with every token")
	}
	lasting := map[string]any{"aud": "flyte", "exp": clk.Now().Add(24 * time.Hour).Unix()}
	issuer.Away(true)
	old := issuer.Token(lasting)
	away(old, "/.well-known/openid-configuration") // the server starts without it, and says why it cannot answer
	// The library hands out the result of a read for a moment longer.
	eventually := func(what func() bool) { require.Eventually(t, what, time.Minute, time.Millisecond) }
	eventually(func() bool {
		return strings.Contains(verify(old).Error(), "it answered 503 Service Unavailable; it is asked again at ")
	})
	issuer.Away(false)
	clk.Step(20 * time.Second)
	eventually(func() bool { return verify(old) == nil })

	issuer.Away(true)
	require.NoError(t, verify(issuer.Token(map[string]any{"aud": "flyte", "sub": "ada", "jti": "another"})), "the keys are known")
	issuer.Rotate(true)
	fresh := issuer.Token(lasting)
	clk.Step(2 * time.Second)
	away(fresh, "/keys") // the new key is not known, which says nothing against the token
	issuer.Away(false)
	clk.Step(20 * time.Second)
	eventually(func() bool { return verify(fresh) == nil })
	asked := issuer.Served("/keys")
	require.NoError(t, verify(old))
	require.Equal(t, asked, issuer.Served("/keys"), "keys are remembered")
	issuer.Rotate(false)
	clk.Step(2 * time.Second)
	require.NoError(t, verify(issuer.Token(lasting)))
	eventually(func() bool { return verify(old) != nil }) // a key that was withdrawn verifies no more
}

// TestForgedTokensCauseNoFlood presents tokens with keys that do not exist.
func TestForgedTokensCauseNoFlood(t *testing.T) {
	issuer, clk := issuertest.New(t), clock.NewFake(time.Now())
	p := providerAt(issuer, clk, nil)
	_, _, err := p.Verify(t.Context(), issuer.Token(map[string]any{"aud": "flyte"}))
	require.NoError(t, err)
	asked, forged := issuer.Served("/keys"), issuertest.New(t).Token(map[string]any{"aud": "flyte", "iss": issuer.URL})
	for range 10 {
		clk.Step(time.Second)
		for range 20 {
			_, _, err := p.Verify(t.Context(), forged)
			require.ErrorContains(t, err, "failed to verify signature")
		}
	}
	require.LessOrEqual(t, issuer.Served("/keys")-asked, 10)
}

// TestWrongClocks verifies tokens by a clock that differs from that of the provider.
func TestWrongClocks(t *testing.T) {
	issuer := issuertest.New(t)
	for off, want := range map[time.Duration]string{
		-50 * time.Second: "", 50 * time.Second: "",
		-10 * time.Minute: "it was issued at ", 10 * time.Minute: "it expired at ",
	} {
		now := time.Now().Add(off)
		p := providerAt(issuer, clock.NewFake(now), nil)
		_, _, err := p.Verify(t.Context(), issuer.Token(map[string]any{"aud": "flyte", "exp": time.Now().Add(5 * time.Minute).Unix()}))
		if want == "" {
			require.NoError(t, err, off)
			continue
		}
		wrong := new(providers.ClockError)
		require.ErrorAs(t, err, &wrong, off)
		require.ErrorContains(t, err, want, off)
		require.ErrorContains(t, err, ", and the clock of this server says "+now.UTC().Format(time.RFC3339)+"; if the token is new, this clock or that of Example is wrong")
	}
}
