package authserver

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/flyte-binary/flyte-binary/access/sessions"
	"github.com/flyte-binary/flyte-binary/access/store"
	"github.com/flyte-binary/flyte-binary/internal/wire/authz"
	"github.com/flyte-binary/flyte-binary/internal/wire/rpc"
)

// Audience is whom access tokens are for.
const Audience = "flyte-binary"

// leeway is by how much the clocks of two processes may differ.
const leeway = 30 * time.Second

// claims are those of an access token. What is known of the caller is not in it, so that it changes when the caller does.
type claims struct {
	jwt.Claims
	// Session is the session of a person; empty in the tokens of keys.
	Session string `json:"sid,omitempty"`
	Client  string `json:"client_id"`
}

// signIn begins the session of a person at a client, which the person approved in another session, and answers with its tokens.
func (s *Server) signIn(ctx context.Context, clientID string, person sessions.Person, approver string) (*op.Response, error) {
	person.IDToken = "" // a client signs out alone
	session, refresh, err := s.Sessions.BeginApproved(ctx, clientID, person, approver)
	switch {
	case errors.Is(err, store.ErrNone):
		return nil, oidc.ErrInvalidGrant().WithDescription("the account %s was removed", person.Account)
	case errors.Is(err, store.ErrEnded):
		return nil, oidc.ErrInvalidGrant().WithDescription("the person has signed out, or was signed out, since; sign in again")
	case err != nil:
		return nil, failed(err)
	}
	return s.issue(ctx, claims{Claims: jwt.Claims{Subject: person.Subject}, Session: session.ID, Client: clientID}, session.ExpiresAt, refresh)
}

// issue answers with an access token.
func (s *Server) issue(ctx context.Context, c claims, end time.Time, refresh string) (*op.Response, error) {
	now := s.Clock.Now()
	expires := now.Add(s.TokenLifetime)
	if !end.IsZero() && end.Before(expires) {
		expires = end
	}
	c.Issuer, c.Audience, c.ID = s.Issuer(), jwt.Audience{Audience}, rand.Text()
	c.IssuedAt, c.Expiry = jwt.NewNumericDate(now), jwt.NewNumericDate(expires)
	token, err := s.sign(ctx, c)
	if err != nil {
		return nil, failed(err)
	}
	return op.NewResponse(&oidc.AccessTokenResponse{
		AccessToken: token, TokenType: oidc.BearerToken, RefreshToken: refresh, ExpiresIn: uint64(max(expires.Sub(now)/time.Second, 1)),
	}), nil
}

// RefreshToken implements op.Server. A refresh token stays the same until its session ends: the clients of one person on one
// machine share it and refresh at the same time, so that a token which worked once would sign them out.
func (s *Server) RefreshToken(ctx context.Context, r *op.ClientRequest[oidc.RefreshTokenRequest]) (*op.Response, error) {
	session, found, err := s.Sessions.ByToken(ctx, r.Data.RefreshToken)
	switch {
	case err != nil:
		return nil, failed(err)
	case !found || session.Client != r.Client.GetID():
		return nil, oidc.ErrInvalidGrant().WithDescription("refresh_token: the session has ended; sign in again")
	}
	return s.issue(ctx, claims{Claims: jwt.Claims{Subject: session.Person.Subject}, Session: session.ID, Client: session.Client}, session.ExpiresAt, r.Data.RefreshToken)
}

// ClientCredentialsExchange implements op.Server.
func (s *Server) ClientCredentialsExchange(ctx context.Context, r *op.ClientRequest[oidc.ClientCredentialsRequest]) (*op.Response, error) {
	id := r.Client.GetID()
	return s.issue(ctx, claims{Claims: jwt.Claims{Subject: id}, Client: id}, time.Time{}, "")
}

// Revocation implements op.Server: the command line signs out. A token that is unknown is not valid either, so it succeeds.
func (s *Server) Revocation(ctx context.Context, r *op.ClientRequest[oidc.RevocationRequest]) (*op.Response, error) {
	session, found, err := s.Sessions.ByToken(ctx, r.Data.Token)
	if err == nil && found && session.Client == r.Client.GetID() {
		err = s.Sessions.End(ctx, session.ID)
	}
	if err != nil {
		return nil, failed(err)
	}
	return op.NewResponse(nil), nil
}

// Caller is who presents an access token. known is false for a token of another issuer.
func (s *Server) Caller(ctx context.Context, token string) (identity authz.Identity, known bool, err error) {
	sum := sha256.Sum256([]byte(token))
	c, verified := s.verified.Get(sum)
	if !verified {
		parsed, err := jwt.ParseSigned(token, algorithms)
		if err != nil {
			return authz.Identity{}, false, nil //nolint:nilerr // not one of these tokens
		}
		var named jwt.Claims
		if err := parsed.UnsafeClaimsWithoutVerification(&named); err != nil || named.Issuer != s.Issuer() {
			return authz.Identity{}, false, nil //nolint:nilerr // the same
		}
		switch c, err = s.verify(ctx, parsed); {
		case errors.Is(err, errForged):
			return authz.Identity{}, true, rpc.Unauthenticated("the access token is not valid: %v", err)
		case err != nil:
			return authz.Identity{}, true, rpc.Unavailable(err, "cannot read the keys that verify the access token; try again")
		}
		s.verified.Add(sum, c)
	}
	expected := jwt.Expected{Issuer: s.Issuer(), AnyAudience: jwt.Audience{Audience}, Time: s.Clock.Now()}
	switch err := c.ValidateWithLeeway(expected, leeway); {
	case errors.Is(err, jwt.ErrExpired):
		return authz.Identity{}, true, rpc.Unauthenticated("the access token has expired; sign in again")
	case err != nil:
		return authz.Identity{}, true, rpc.Unauthenticated("the access token is not valid: %s", strings.TrimPrefix(err.Error(), "go-jose/go-jose/jwt: "))
	}
	identity, err = s.holder(ctx, c)
	return identity, true, err
}

// holder is who holds a token that is valid, as known now.
func (s *Server) holder(ctx context.Context, c claims) (authz.Identity, error) {
	if c.Session == "" {
		if s.APIKeys == nil {
			return authz.Identity{}, rpc.Unauthenticated("the access token is of an API key, and there are none")
		}
		return s.APIKeys.Caller(ctx, c.Subject)
	}
	session, found, err := s.Sessions.ByID(ctx, c.Session)
	if err != nil {
		return authz.Identity{}, rpc.Unavailable(err, "cannot read the session; try again")
	}
	if !found {
		return authz.Identity{}, rpc.Unauthenticated("the session has ended; sign in again")
	}
	return session.Person.Identity(session.ID), nil
}
