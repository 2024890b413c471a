package access

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/flyte-binary/flyte-binary/access/providers"
	"github.com/flyte-binary/flyte-binary/access/sessions"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
	"github.com/flyte-binary/flyte-binary/internal/work/clock"
)

// algorithms are those of the signatures of providers.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.ES256, jose.ES384, jose.ES512, jose.PS256, jose.PS384, jose.PS512, jose.EdDSA,
}

// bearers knows the tokens of the identity providers that programs present. Tokens that were verified are remembered until they
// end: their signatures cost more than the rest of a call.
type bearers struct {
	providers []*providers.Provider
	clock     clock.Clock
	verified  *lru.Cache[[sha256.Size]byte, verified]
}

type verified struct {
	person sessions.Person
	ends   time.Time
}

func (v verified) identity(credential string) authz.Identity {
	identity := v.person.Identity(credential)
	identity.Until = v.ends
	return identity
}

// rememberedTokens bounds how many are remembered.
const rememberedTokens = 10_000

func newBearers(all []*providers.Provider, clk clock.Clock) (*bearers, error) {
	cache, err := lru.New[[sha256.Size]byte, verified](rememberedTokens)
	if err != nil {
		return nil, fmt.Errorf("make the cache of tokens: %w", err)
	}
	return &bearers{providers: all, clock: clk, verified: cache}, nil
}

// Caller is who presents a token; anonymous for one of an unknown issuer.
func (b *bearers) Caller(ctx context.Context, token string) (authz.Identity, error) {
	provider := b.issuerOf(token)
	if provider == nil {
		return authz.Identity{}, nil
	}
	credential := "token of " + provider.Name()
	key := sha256.Sum256([]byte(token))
	if known, ok := b.verified.Get(key); ok && b.clock.Now().Before(known.ends) {
		return known.identity(credential), nil
	}
	person, ends, err := provider.Verify(ctx, token)
	unreachable := new(providers.UnreachableError)
	switch {
	case errors.As(err, &unreachable):
		return authz.Identity{}, rpc.Unavailable(err, "the identity provider %s cannot be reached to verify the token; try again", provider.Name())
	case err != nil:
		return authz.Identity{}, rpc.Unauthenticated("the token of %s is not valid: %v", provider.Name(), err)
	}
	found := verified{person, ends}
	b.verified.Add(key, found)
	return found.identity(credential), nil
}

// issuerOf is the provider that a token says it is of; nil if there is none.
func (b *bearers) issuerOf(token string) *providers.Provider {
	if len(b.providers) == 0 {
		return nil
	}
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		return nil
	}
	var claims jwt.Claims
	if parsed.UnsafeClaimsWithoutVerification(&claims) != nil {
		return nil
	}
	for _, one := range b.providers {
		if one.Issuer() == claims.Issuer {
			return one
		}
	}
	return nil
}
