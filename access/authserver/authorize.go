package authserver

import (
	"context"
	"crypto/rand"
	"net/url"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/flyte-binary/flyte-binary/access/sessions"
	"github.com/flyte-binary/flyte-binary/access/store"
)

// Request is a client that waits for a person to sign in.
type Request struct {
	Client      string `json:"client"`
	RedirectURI string `json:"redirect_uri"`
	State       string `json:"state"`
	Challenge   string `json:"challenge"`
}

// approved is a request that a person has approved.
type approved struct {
	Request
	Person sessions.Person `json:"person"`
	// Session is that of the browser in which the person approved it.
	Session string `json:"session"`
}

// VerifyAuthRequest implements op.Server.
func (s *Server) VerifyAuthRequest(_ context.Context, r *op.Request[oidc.AuthRequest]) (*op.ClientRequest[oidc.AuthRequest], error) {
	switch {
	case r.Data.RequestParam != "":
		return nil, oidc.ErrRequestNotSupported()
	case r.Data.ClientID != CommandLine:
		return nil, oidc.ErrInvalidRequest().WithDescription("client_id: the client %q is not known here; the command line is %s", r.Data.ClientID, CommandLine)
	}
	return &op.ClientRequest[oidc.AuthRequest]{Request: r, Client: client{}}, nil
}

// Authorize implements op.Server: it sends the person to the sign-in page.
func (s *Server) Authorize(ctx context.Context, r *op.ClientRequest[oidc.AuthRequest]) (*op.Redirect, error) {
	if r.Data.CodeChallenge == "" || r.Data.CodeChallengeMethod != oidc.CodeChallengeMethodS256 {
		return nil, oidc.ErrInvalidRequest().WithDescription("code_challenge: is required, with code_challenge_method S256")
	}
	id := rand.Text()
	request := Request{Client: r.Client.GetID(), RedirectURI: r.Data.RedirectURI, State: r.Data.State, Challenge: r.Data.CodeChallenge}
	if err := s.Store.BeginGrant(ctx, peerOf(ctx), store.GrantRequest, id, request, requestLifetime); err != nil {
		return nil, failed(err)
	}
	return op.NewRedirect(s.URL + s.SignInPage + "?request=" + id), nil
}

// Waiting reads a request that waits for a person. found is false when it has expired or was answered.
func (s *Server) Waiting(ctx context.Context, id string) (request Request, found bool, err error) {
	found, err = s.Store.Grant(ctx, store.GrantRequest, id, &request)
	return request, found, err
}

// Approve answers a request for the person of a session, once, and returns the URL of the client at which the browser
// delivers the code.
func (s *Server) Approve(ctx context.Context, id string, by sessions.Session) (redirect string, found bool, err error) {
	var request Request
	if found, err = s.Store.TakeGrant(ctx, store.GrantRequest, id, &request); err != nil || !found {
		return "", false, err
	}
	code := rand.Text()
	if err := s.Store.PutGrant(ctx, store.GrantCode, code, approved{request, by.Person, by.ID}, codeLifetime); err != nil {
		return "", false, err
	}
	return request.answer(url.Values{"code": {code}}), true, nil
}

// Deny answers a request with a refusal.
func (s *Server) Deny(ctx context.Context, id string) (redirect string, found bool, err error) {
	var request Request
	if found, err = s.Store.TakeGrant(ctx, store.GrantRequest, id, &request); err != nil || !found {
		return "", false, err
	}
	return request.answer(url.Values{"error": {"access_denied"}, "error_description": {"the person did not allow it"}}), true, nil
}

// answer is the URL of the client with the parameters of an answer.
func (r Request) answer(parameters url.Values) string {
	to, err := url.Parse(r.RedirectURI)
	if err != nil {
		return "" // it was checked when the request came
	}
	if r.State != "" {
		parameters.Set("state", r.State)
	}
	query := to.Query()
	for key, values := range parameters {
		query[key] = values
	}
	to.RawQuery = query.Encode()
	return to.String()
}

// CodeExchange implements op.Server.
func (s *Server) CodeExchange(ctx context.Context, r *op.ClientRequest[oidc.AccessTokenRequest]) (*op.Response, error) {
	var request approved
	found, err := s.Store.TakeGrant(ctx, store.GrantCode, r.Data.Code, &request)
	switch {
	case err != nil:
		return nil, failed(err)
	case !found:
		return nil, oidc.ErrInvalidGrant().WithDescription("code: is unknown, was used, or is older than a minute")
	case r.Client.GetID() != request.Client:
		return nil, oidc.ErrInvalidGrant().WithDescription("code: is of another client")
	case r.Data.RedirectURI != request.RedirectURI:
		return nil, oidc.ErrInvalidGrant().WithDescription("redirect_uri: is not that of the request")
	}
	challenge := &oidc.CodeChallenge{Challenge: request.Challenge, Method: oidc.CodeChallengeMethodS256}
	if err := op.AuthorizeCodeChallenge(r.Data.CodeVerifier, challenge); err != nil {
		return nil, err
	}
	return s.signIn(ctx, request.Client, request.Person, request.Session)
}
