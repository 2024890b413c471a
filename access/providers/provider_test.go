package providers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access/providers"
	"github.com/flyte-binary/flyte-binary/internal/test/issuertest"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

var names = providers.ClaimNames{Subject: "sub", Name: "name", Email: "email", Groups: "groups"}

func provider(issuer *issuertest.Issuer, change func(*providers.Config)) *providers.Provider {
	config := providers.Config{Name: "Example", URL: issuer.URL, ClientID: "flyte", Audiences: []string{"api"}, Claims: names, Reserved: []string{"local|", "Example|", "Other|"}}
	if change != nil {
		change(&config)
	}
	return providers.New(config, clock.System{})
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
		"by a fast clock":         {issuer.Token(map[string]any{"aud": "flyte", "nbf": now.Add(2 * time.Minute).Unix()}), ""},
		"not valid yet":           {issuer.Token(map[string]any{"aud": "flyte", "nbf": now.Add(time.Hour).Unix()}), "before"},
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

// TestAnOutageOfTheProvider verifies tokens by the keys that are known while the provider is away, and new keys once it is back.
func TestAnOutageOfTheProvider(t *testing.T) {
	issuer := issuertest.New(t)
	p := provider(issuer, nil)
	issuer.Away(true)
	unreachable := new(providers.UnreachableError)
	_, _, err := p.Verify(t.Context(), issuer.Token(map[string]any{"aud": "flyte"}))
	require.ErrorAs(t, err, &unreachable, "the server starts without it, and says why it cannot answer")
	issuer.Away(false)
	old := issuer.Token(map[string]any{"aud": "flyte"})
	_, _, err = p.Verify(t.Context(), old)
	require.NoError(t, err)

	issuer.Away(true)
	_, _, err = p.Verify(t.Context(), issuer.Token(map[string]any{"aud": "flyte", "sub": "ada", "jti": "another"}))
	require.NoError(t, err, "the keys are known")
	issuer.Rotate(true)
	fresh := issuer.Token(map[string]any{"aud": "flyte"})
	_, _, err = p.Verify(t.Context(), fresh)
	require.Error(t, err, "the new key is not")
	issuer.Away(false)
	_, _, err = p.Verify(t.Context(), fresh)
	require.NoError(t, err)
	asked := issuer.Served("/keys")
	_, _, err = p.Verify(t.Context(), old)
	require.NoError(t, err)
	require.Equal(t, asked, issuer.Served("/keys"), "keys are remembered")
	issuer.Rotate(false)
	_, _, err = p.Verify(t.Context(), issuer.Token(map[string]any{"aud": "flyte"}))
	require.NoError(t, err)
	_, _, err = p.Verify(t.Context(), old)
	require.Error(t, err, "a key that was withdrawn verifies no more")
}
