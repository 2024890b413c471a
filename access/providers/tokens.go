package providers

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// leeway is by how much the provider's clock may differ.
const leeway = time.Minute

// ClockError is the error of a token whose times do not fit the clock of this server.
type ClockError struct {
	Provider string
	// What says what does not fit, such as "it expired at 2026-01-02T03:04:05Z".
	What string
	Now  time.Time
}

// Error implements error.
func (e *ClockError) Error() string {
	return fmt.Sprintf("%s, and the clock of this server says %s; if the token is new, this clock or that of %s is wrong",
		e.What, e.Now.UTC().Format(time.RFC3339), e.Provider)
}

// inTime compares the times of a token with the clock.
func (p *Provider) inTime(token *oidc.IDToken, c claims) error {
	now, begins := p.clock.Now(), c.time("nbf")
	wrong := func(what string, at time.Time) error {
		return &ClockError{Provider: p.config.Name, What: what + " " + at.UTC().Format(time.RFC3339), Now: now}
	}
	switch {
	case token.Expiry.IsZero():
		return errors.New("it has no end (exp)")
	case now.After(token.Expiry.Add(leeway)):
		return wrong("it expired at", token.Expiry)
	case now.Add(leeway).Before(token.IssuedAt):
		return wrong("it was issued at", token.IssuedAt)
	case now.Add(leeway).Before(begins):
		return wrong("it is not valid before", begins)
	default:
		return nil
	}
}

// foreignParty reports whether a token for several audiences was issued to a party that is not one of those accepted.
func foreignParty(token *oidc.IDToken, c claims, accepted ...string) bool {
	party := c.text("azp")
	return party != "" && len(token.Audience) > 1 && !slices.Contains(accepted, party)
}

// signatures are the keys of a provider, and the algorithms that it signs with.
type signatures struct {
	keys       oidc.KeySet
	algorithms []string
}

// asymmetric are the algorithms whose keys are public.
func asymmetric() []string {
	return []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA}
}

// signaturesOf reads where the keys of a provider are. They are fetched by the client when a token first needs them.
func (p *Provider) signaturesOf(known *oidc.Provider) (signatures, error) {
	var about struct {
		Keys       string   `json:"jwks_uri"`
		Algorithms []string `json:"id_token_signing_alg_values_supported"`
	}
	if err := known.Claims(&about); err != nil {
		return signatures{}, fmt.Errorf("the metadata of %s: %w", p.config.Name, err)
	}
	found := signatures{keys: oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), p.documents), about.Keys)}
	for _, algorithm := range about.Algorithms {
		if slices.Contains(asymmetric(), algorithm) {
			found.algorithms = append(found.algorithms, algorithm)
		}
	}
	return found, nil
}

// verify checks the issuer, the signature and the times of a token; its audience is left to the caller. The error is an
// *UnreachableError if its key is not known and the provider cannot be asked for it.
func (p *Provider) verify(ctx context.Context, by signatures, raw string) (*oidc.IDToken, claims, error) {
	noting := &noting{KeySet: by.keys}
	verifier := oidc.NewVerifier(p.config.URL, noting, &oidc.Config{SupportedSigningAlgs: by.algorithms, SkipClientIDCheck: true, SkipExpiryCheck: true})
	token, err := verifier.Verify(ctx, raw)
	if unread := new(url.Error); errors.As(noting.err, &unread) {
		return nil, nil, &UnreachableError{Provider: p.config.Name, Err: noting.err}
	}
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // its text names the token
	}
	var c claims
	if err := token.Claims(&c); err != nil {
		return nil, nil, fmt.Errorf("its claims: %w", err)
	}
	return token, c, p.inTime(token, c)
}

// noting keeps the error of a key set, which the verifier turns into a text.
type noting struct {
	oidc.KeySet
	err error
}

// VerifySignature implements oidc.KeySet.
func (n *noting) VerifySignature(ctx context.Context, raw string) (payload []byte, err error) {
	payload, n.err = n.KeySet.VerifySignature(ctx, raw)
	return payload, n.err //nolint:wrapcheck // the verifier does
}
