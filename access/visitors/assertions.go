package visitors

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/flyte-binary/flyte-binary/access/signing"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// The paths of the installation at which apps find the keys, below the public URL. The first is the issuer.
const (
	issuerPath    = "/access/apps"
	KeysPath      = issuerPath + "/keys"
	DiscoveryPath = issuerPath + "/.well-known/openid-configuration"
)

// How long an assertion is valid, and how long the same one is used. A request may wait for a replica in between.
const (
	assertionLifetime = 10 * time.Minute
	assertionUsed     = time.Minute
)

// rememberedAssertions bounds how many are remembered.
const rememberedAssertions = 10_000

// Assertions tells apps who calls, in tokens that they can verify. Their keys are not those of access tokens, and their issuer is
// another one: no assertion is a credential at the installation.
type Assertions struct {
	url   string
	ring  *signing.Ring
	clock clock.Clock
	made  *lru.Cache[asserted, assertion]
}

// asserted is what an assertion says.
type asserted struct {
	kind                      authz.Kind
	subject, name, email, app string
}

type assertion struct {
	token string
	until time.Time
}

// NewAssertions returns the assertions of an installation with a public URL.
func NewAssertions(url string, from signing.Store, clk clock.Clock) (*Assertions, error) {
	made, err := lru.New[asserted, assertion](rememberedAssertions)
	if err != nil {
		return nil, fmt.Errorf("make the cache of assertions: %w", err)
	}
	ring := signing.NewRing(signing.Config{Purpose: "app assertion", Make: newKey, Rotate: 90 * 24 * time.Hour, Keep: 24 * time.Hour}, from, clk)
	return &Assertions{url: url, ring: ring, clock: clk, made: made}, nil
}

func newKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a P-256 key: %w", err)
	}
	return x509.MarshalPKCS8PrivateKey(key) //nolint:wrapcheck // it does not fail for such a key
}

func private(key signing.Key) (*ecdsa.PrivateKey, error) {
	parsed, err := x509.ParsePKCS8PrivateKey(key.Private())
	if err != nil {
		return nil, fmt.Errorf("read the key %s: %w", key.ID, err)
	}
	known, ok := parsed.(*ecdsa.PrivateKey)
	if !ok {
		return nil, errors.New("the key " + key.ID + " is of another kind")
	}
	return known, nil
}

// Assert returns the token that tells an app who calls it. The app, as project/domain/name, is its audience.
func (a *Assertions) Assert(ctx context.Context, caller authz.Identity, app string) (string, error) {
	now := a.clock.Now()
	about := asserted{caller.Kind, caller.Subject, caller.Name, caller.Email, app}
	if known, ok := a.made.Get(about); ok && now.Before(known.until) {
		return known.token, nil
	}
	key, err := a.ring.Signer(ctx)
	if err != nil {
		return "", rpc.Unavailable(err, "the key that tells apps who calls cannot be read; try again")
	}
	signer, err := private(key)
	if err != nil {
		return "", err
	}
	token, err := serialised(jose.ES256, signer, key.ID, "JWT", struct {
		jwt.Claims
		Kind  string `json:"kind"`
		Name  string `json:"name,omitempty"`
		Email string `json:"email,omitempty"`
	}{
		jwt.Claims{
			Issuer: a.url + issuerPath, Subject: caller.Subject, Audience: jwt.Audience{app}, IssuedAt: jwt.NewNumericDate(now),
			Expiry: jwt.NewNumericDate(now.Add(assertionLifetime)),
		}, caller.Kind.String(), caller.Name, caller.Email,
	})
	if err != nil {
		return "", err
	}
	a.made.Add(about, assertion{token, now.Add(assertionUsed)})
	return token, nil
}

// Keys answers with the keys that verify assertions, as a set of JSON web keys.
func (a *Assertions) Keys(w http.ResponseWriter, r *http.Request) {
	keys, err := a.ring.All(r.Context())
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
	for _, key := range keys {
		known, broken := private(key)
		if err = errors.Join(err, broken); broken == nil {
			set.Keys = append(set.Keys, jose.JSONWebKey{Key: known.Public(), KeyID: key.ID, Algorithm: string(jose.ES256), Use: "sig"})
		}
	}
	if err != nil {
		http.Error(w, "the keys cannot be read; try again", http.StatusServiceUnavailable)
		return
	}
	answer(w, set)
}

// Discovery answers with what libraries look for at an issuer.
func (a *Assertions) Discovery(w http.ResponseWriter, _ *http.Request) {
	answer(w, map[string]any{
		"issuer": a.url + issuerPath, "jwks_uri": a.url + KeysPath, "id_token_signing_alg_values_supported": []string{string(jose.ES256)},
		"response_types_supported": []string{}, "subject_types_supported": []string{"public"},
	})
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "max-age=300")
	// A failed write means that the client has gone.
	_ = json.NewEncoder(w).Encode(body)
}
