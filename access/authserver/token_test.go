package authserver_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/require"

	"github.com/flyte-binary/flyte-binary/access/authserver"
	"github.com/flyte-binary/flyte-binary/access/sessions"
	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/pg/pgtest"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

func TestMain(m *testing.M) { pgtest.VerifyMain(m) }

// fixture is an authorization server with a signed-in person.
type fixture struct {
	*authserver.Server
	now     *clock.Fake
	handler http.Handler
	refresh string
	session sessions.Session
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	f := &fixture{now: clock.NewFake(time.Now())}
	kept := store.New(pgtest.Schemas(t, store.Schema()), f.now)
	all, err := sessions.New(kept, f.now, sessions.Lifetimes{Idle: 12 * time.Hour, Absolute: 24 * time.Hour})
	require.NoError(t, err)
	f.Server, err = authserver.New(authserver.Deps{
		Store: kept, Sessions: all, Ring: authserver.NewRing(kept, f.now), Clock: f.now, URL: "https://flyte.example.com", TokenLifetime: time.Hour,
	})
	require.NoError(t, err)
	f.handler = f.Handler()
	f.session, f.refresh, err = all.Begin(t.Context(), sessions.NewID(), authserver.CommandLine, sessions.Person{Subject: "ada"})
	require.NoError(t, err)
	return f
}

// token is a new access token of the person.
func (f *fixture) token(t testing.TB) (string, int) {
	t.Helper()
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {f.refresh}, "client_id": {authserver.CommandLine}}
	request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/access/oauth2/token", strings.NewReader(form.Encode()))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response := httptest.NewRecorder()
	f.handler.ServeHTTP(response, request)
	var got struct {
		Token   string `json:"access_token"`
		Expires int    `json:"expires_in"`
	}
	require.NoError(t, json.Unmarshal(response.Body.Bytes(), &got))
	require.Equal(t, http.StatusOK, response.Code, response.Body.String())
	return got.Token, got.Expires
}

// caller is who presents a token.
func (f *fixture) caller(t testing.TB, token string) (authz.Identity, bool, error) {
	t.Helper()
	return f.Caller(t.Context(), token)
}

// TestAnAccessTokenExpires within its lifetime and its session's, with some leeway for clocks.
func TestAnAccessTokenExpires(t *testing.T) {
	f := newFixture(t)
	token, expires := f.token(t)
	require.Equal(t, 3600, expires)
	identity, known, err := f.caller(t, token)
	require.NoError(t, err)
	require.True(t, known)
	require.Equal(t, authz.Identity{Kind: authz.User, Subject: "ada", Credential: f.session.ID}, identity)
	f.now.Step(time.Hour + 20*time.Second)
	_, _, err = f.caller(t, token)
	require.NoError(t, err, "clocks differ")
	f.now.Step(20 * time.Second)
	_, known, err = f.caller(t, token)
	require.True(t, known)
	require.Equal(t, rpc.KindUnauthenticated, rpc.KindOf(err))
	require.ErrorContains(t, err, "has expired")
	for range 22 { // it is used all the time
		f.now.Step(time.Hour)
		_, _ = f.token(t)
	}
	_, expires = f.token(t)
	require.Less(t, expires, 3600, "not longer than the session")
}

// TestForgedTokens are refused: other keys, no signature, other audiences, changed claims.
func TestForgedTokens(t *testing.T) {
	f := newFixture(t)
	token, _ := f.token(t)
	parts := strings.Split(token, ".")
	_, other, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	var header map[string]any
	raw, err := base64.RawURLEncoding.DecodeString(parts[0])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &header))
	sign := func(algorithm jose.SignatureAlgorithm, key any, claims map[string]any) string {
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, (&jose.SignerOptions{}).WithHeader("kid", header["kid"]))
		require.NoError(t, err)
		made, err := jwt.Signed(signer).Claims(claims).Serialize()
		require.NoError(t, err)
		return made
	}
	claims := map[string]any{"iss": f.Issuer(), "aud": authserver.Audience, "sub": "root", "sid": f.session.ID, "exp": time.Now().Add(time.Hour).Unix()}
	changed := base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"` + f.Issuer() + `","aud":"flyte-binary","sub":"root","sid":"` + f.session.ID + `","exp":4102444800}`))
	for name, forged := range map[string]string{
		"another key":       sign(jose.EdDSA, other, claims),
		"changed claims":    parts[0] + "." + changed + "." + parts[2],
		"another signature": parts[0] + "." + parts[1] + "." + base64.RawURLEncoding.EncodeToString(make([]byte, 64)),
	} {
		_, known, err := f.caller(t, forged)
		require.True(t, known, name)
		require.Equal(t, rpc.KindUnauthenticated, rpc.KindOf(err), name)
		require.ErrorContains(t, err, "not signed by this installation", name)
	}
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + changed + "."
	for name, foreign := range map[string]string{
		"no signature": none, "a shared secret": sign(jose.HS256, []byte(strings.Repeat("k", 32)), claims),
		"another issuer": sign(jose.EdDSA, other, map[string]any{"iss": "https://elsewhere.example"}), "not a token": "a.b.c",
	} {
		identity, known, err := f.caller(t, foreign)
		require.NoError(t, err, name)
		require.False(t, known, "no one else takes it for the token of a caller: "+name)
		require.Equal(t, authz.Identity{}, identity)
	}
}

// BenchmarkCaller is what the authentication of a call by an access token costs, with what is known of it.
func BenchmarkCaller(b *testing.B) {
	f := newFixture(b)
	token, _ := f.token(b)
	for b.Loop() {
		if _, _, err := f.Caller(b.Context(), token); err != nil {
			b.Fatal(err)
		}
	}
}
