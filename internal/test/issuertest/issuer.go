// Package issuertest runs identity providers for tests: a small one whose keys, clock and claims the test decides, and the example
// provider of zitadel/oidc, which signs people in.
package issuertest

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/stretchr/testify/require"
)

// Issuer issues the tokens that a test asks for.
type Issuer struct {
	// URL is the issuer.
	URL string

	t      testing.TB
	mu     sync.Mutex
	keys   []*rsa.PrivateKey // GUARDED_BY(mu): the last signs
	away   bool              // GUARDED_BY(mu)
	signIn map[string]any    // GUARDED_BY(mu): the claims of the ID token for the next code
	served map[string]int    // GUARDED_BY(mu): requests by path
}

// New starts an issuer.
func New(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{t: t, served: map[string]int{}}
	i.Rotate(true)
	server := httptest.NewServer(i)
	t.Cleanup(server.Close)
	i.URL = server.URL
	return i
}

// Rotate makes a new key, which signs from now on. The old ones verify if they are kept.
func (i *Issuer) Rotate(keep bool) {
	i.t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(i.t, err)
	i.mu.Lock()
	defer i.mu.Unlock()
	if !keep {
		i.keys = nil
	}
	i.keys = append(i.keys, key)
}

// Away says whether it answers nothing but errors.
func (i *Issuer) Away(away bool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.away = away
}

// SignIn says whom the next code is of, by the claims of the ID token that it is exchanged for.
func (i *Issuer) SignIn(claims map[string]any) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.signIn = claims
}

// Served counts the requests to a path.
func (i *Issuer) Served(path string) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.served[path]
}

// id is the id of a key.
func id(key *rsa.PrivateKey) string { return key.N.Text(36)[:8] }

// ServeHTTP implements http.Handler.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.served[r.URL.Path]++
	var answer any
	switch {
	case i.away:
		http.Error(w, "away", http.StatusServiceUnavailable)
		return
	case r.URL.Path == "/token":
		if i.signIn == nil || r.PostFormValue("grant_type") != "authorization_code" || r.PostFormValue("code") == "" || r.PostFormValue("code_verifier") == "" {
			http.Error(w, `{"error": "invalid_grant"}`, http.StatusBadRequest)
			return
		}
		answer = map[string]any{"access_token": "opaque", "token_type": "Bearer", "id_token": i.signed(i.signIn)}
		i.signIn = nil
	case r.URL.Path == "/keys":
		set := jose.JSONWebKeySet{}
		for _, key := range i.keys {
			set.Keys = append(set.Keys, jose.JSONWebKey{Key: key.Public(), KeyID: id(key), Algorithm: string(jose.RS256), Use: "sig"})
		}
		answer = set
	default:
		answer = map[string]any{
			"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
			"end_session_endpoint":                  i.URL + "/end_session",
			"id_token_signing_alg_values_supported": []string{string(jose.RS256)},
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// Token signs claims. Those that are not given are of a token that is valid now, for the subject ada; those that are nil are left out.
func (i *Issuer) Token(claims map[string]any) string {
	i.t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.signed(claims)
}

// signed is Token; GUARDED_BY(mu).
func (i *Issuer) signed(claims map[string]any) string {
	i.t.Helper()
	now := time.Now()
	all := map[string]any{"iss": i.URL, "sub": "ada", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	for name, value := range claims {
		if all[name] = value; value == nil {
			delete(all, name)
		}
	}
	key := i.keys[len(i.keys)-1]
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: key}, (&jose.SignerOptions{}).WithType("JWT").WithHeader("kid", id(key)))
	require.NoError(i.t, err)
	token, err := jwt.Signed(signer).Claims(all).Serialize()
	require.NoError(i.t, err)
	return token
}
