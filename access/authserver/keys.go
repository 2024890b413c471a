package authserver

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/flyte-binary/flyte-binary/access/signing"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// How long a key signs access tokens, and how long it verifies after that: longer than any token is valid.
const (
	keyRotates = 90 * 24 * time.Hour
	keyKept    = 7 * 24 * time.Hour
)

// NewRing returns the keys of the access tokens.
func NewRing(from signing.Store, clk clock.Clock) *signing.Ring {
	return signing.NewRing(signing.Config{Purpose: "access token", Make: newKey, Rotate: keyRotates, Keep: keyKept}, from, clk)
}

func newKey() ([]byte, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make an Ed25519 key: %w", err)
	}
	return private.Seed(), nil
}

// algorithms are those of the access tokens.
var algorithms = []jose.SignatureAlgorithm{jose.EdDSA}

// errForged is the error of a token that no key of the installation has signed.
var errForged = errors.New("it is not signed by this installation")

// sign returns claims as a signed token.
func (s *Server) sign(ctx context.Context, c claims) (string, error) {
	key, err := s.Ring.Signer(ctx)
	if err != nil {
		return "", err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: ed25519.NewKeyFromSeed(key.Private())},
		(&jose.SignerOptions{}).WithType("at+jwt").WithHeader("kid", key.ID))
	if err != nil {
		return "", fmt.Errorf("sign an access token: %w", err)
	}
	token, err := jwt.Signed(signer).Claims(c).Serialize()
	if err != nil {
		return "", fmt.Errorf("sign an access token: %w", err)
	}
	return token, nil
}

// verify checks the signature of a token and reads its claims. The caller checks these.
func (s *Server) verify(ctx context.Context, token *jwt.JSONWebToken) (claims, error) {
	if len(token.Headers) != 1 {
		return claims{}, errForged
	}
	key, found, err := s.Ring.Verifier(ctx, token.Headers[0].KeyID)
	if err != nil {
		return claims{}, err
	}
	if !found {
		return claims{}, errForged
	}
	var c claims
	if err := token.Claims(ed25519.NewKeyFromSeed(key.Private()).Public(), &c); err != nil {
		return claims{}, errForged
	}
	return c, nil
}

// publicKeys is the keys as a set of JSON web keys, for those who verify tokens.
func (s *Server) publicKeys(ctx context.Context) (jose.JSONWebKeySet, error) {
	keys, err := s.Ring.All(ctx)
	if err != nil {
		return jose.JSONWebKeySet{}, err
	}
	set := jose.JSONWebKeySet{Keys: []jose.JSONWebKey{}}
	for _, key := range keys {
		set.Keys = append(set.Keys, jose.JSONWebKey{
			Key: ed25519.NewKeyFromSeed(key.Private()).Public(), KeyID: key.ID, Algorithm: string(jose.EdDSA), Use: "sig",
		})
	}
	return set, nil
}
